package throttle

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/definition"
	"github.com/gopacer/pacer/throttle/internal/shelf"
)

// restart is two runs of a program, of which the second one loads what the first one saved while all was under
// way.
type restart struct {
	t       *testing.T
	texts   [2][]string // quotas of each level
	keeps   bool        // no grant is canceled
	paths   [][]string
	start   time.Time
	servers [3]windowServer // of the paths

	mu   sync.Mutex
	sent []claimSent // the Group tells the run
}

// drawRestart draws quotas of two levels, whose spans are over a minute: others are not saved.
func drawRestart(t *testing.T, r *rand.Rand) *restart {
	t.Helper()
	p := &restart{t: t, keeps: r.IntN(2) == 0, paths: [][]string{{"a"}, {"a", "x"}, {"a", "y"}}, start: time.Now()}
	kinds := []string{"20/2m", "300/2m", "20/2m burst 5", "40/2m burst 40", "20/61s sliding", "20/90s log", "20/2m estimate", "20/2m window grid", "30/5m even"}
	if p.keeps {
		kinds = append(kinds, "20/2m window") // which a canceled grant opens, here alone
	}
	for i := range p.texts {
		for range r.IntN(3) {
			text := kinds[r.IntN(len(kinds))]
			if !slices.ContainsFunc(p.texts[i], func(s string) bool { return strings.Fields(s)[0] == strings.Fields(text)[0] }) {
				p.texts[i] = append(p.texts[i], text)
			}
		}
	}
	return p
}

// group returns the buckets of a run.
func (p *restart) group() *Group {
	return &Group{New: func(path []string) *Limiter {
		l := &Limiter{Name: strings.Join(path, "/"), Rand: noJitter, MaxStandstill: Forever}
		if text := strings.Join(p.texts[len(path)-1], ", "); text != "" {
			l.Quotas = quotas(p.t, text)
		}
		return l
	}}
}

// play has claims made until the end, which is when ctx ends. Without answers, grants do not end.
func (p *restart) play(ctx context.Context, g *Group, r *rand.Rand, answers bool) {
	for range 1 + r.IntN(12) {
		r := rand.New(rand.NewPCG(r.Uint64(), 3))
		i := r.IntN(len(p.paths))
		path := p.paths[i]
		pause := r.IntN(3)
		go func() {
			for {
				time.Sleep(time.Duration(r.IntN(1+pause*10000)) * time.Millisecond)
				c := Claim{N: 1 + r.IntN(3)*r.IntN(2), Priority: byIndex[r.IntN(3)]}
				grant, err := g.Limiter(path...).Acquire(ctx, c)
				if err != nil {
					return
				}
				at := time.Now()
				if !p.keeps && r.IntN(6) == 0 {
					time.Sleep(time.Duration(r.IntN(5000)) * time.Millisecond)
					if ctx.Err() == nil { // else the run is over, and it counts as sent
						grant.Cancel()
						continue
					}
				}
				p.mu.Lock()
				p.sent = append(p.sent, claimSent{definition.Sent{At: at.Sub(p.start), N: int64(c.N)}, g, strings.Join(path, "/")})
				p.mu.Unlock()
				trip := time.Duration(r.IntN(4000)) * time.Millisecond
				time.Sleep(trip)
				said := p.servers[i].count(c.N)
				time.Sleep(trip)
				switch {
				case ctx.Err() != nil:
					return
				case !answers:
					continue
				}
				p.answer(grant, c.N, said, r)
			}
		}()
	}
}

// windowServer is a server that states a window, which the first request opens.
type windowServer struct {
	mu   sync.Mutex
	ends time.Time
	used int
}

// count counts a request, and says what remains.
func (s *windowServer) count(n int) quota.Statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); !now.Before(s.ends) {
		s.ends, s.used = now.Add(100*time.Second), 0
	}
	s.used += n
	return quota.Statement{Limit: 50, Remaining: int64(max(50-s.used, 0)), Reset: time.Until(s.ends), ResetKnown: true}
}

// answer ends a grant.
func (p *restart) answer(g *Grant, n int, said quota.Statement, r *rand.Rand) {
	switch k := r.IntN(20); {
	case k < 10:
		g.Done()
	case k == 10:
		g.Answered(Answer{Refused: true, Hold: &quota.Hold{For: time.Duration(1+r.IntN(200)) * time.Second}})
	case k == 11:
		g.Answered(Answer{Lost: true})
	case k == 12:
		g.Settle(quota.Costs{quota.Requests: int64(n + r.IntN(3))})
		g.Done()
	case k < 16:
		g.Answered(Answer{Statements: []quota.Statement{said}})
	default:
		g.Answered(Answer{})
	}
}

// run plays both runs, and tells what the second one has forgotten.
func (p *restart) run(r *rand.Rand) {
	t := p.t
	one, two := p.group(), p.group()
	for _, path := range p.paths {
		one.Limiter(path...)
	}
	ctx, end := context.WithCancel(t.Context())
	p.play(ctx, one, r, true)
	time.Sleep(time.Duration(r.IntN(240_000)) * time.Millisecond)
	synctest.Wait()
	var saved bytes.Buffer
	if err := one.Save(&saved); err != nil {
		t.Fatal(err)
	}
	text := saved.String()
	at, was := time.Now(), one.State()
	end()
	synctest.Wait()
	later := time.Duration(r.IntN(2)*r.IntN(90_000)) * time.Millisecond
	time.Sleep(later)
	if err := two.Load(&saved); err != nil {
		t.Fatal(err)
	}
	learned, err := shelf.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range p.paths {
		// A trial of twice a pace that is under way is not saved: the pace grows until the next run begins it
		// anew. Beside limits that the server states, no pace is taken over. And where nothing remains, a new
		// run may look for a first token before the reset, as it knows no answers that contradict that.
		m := learned[two.Limiter(path...).node.Digest()]
		tries, stated := !m.UpNext.IsZero() && !m.UpNext.After(at), m.Rate > 0 && len(m.Windows) > 0
		looks := slices.ContainsFunc(m.Windows, func(w adaptive.WindowMemory) bool { return w.Remaining == 0 })
		if later == 0 && !tries && !stated && !looks {
			for n := 1; n <= 4; n++ {
				a, b := one.Limiter(path...).Forecast(Claim{N: n}), two.Limiter(path...).Forecast(Claim{N: n})
				if a.Wait > b.Wait && !a.Never {
					t.Errorf("%v: %d wait %v in the first run, and %v in the second\n%+v\n%+v\n%s", path, n, a.Wait, b.Wait, a, b, text)
				}
			}
		}
		if held := max(was[i].Held-later, 0); two.Limiter(path...).State().Held != held {
			t.Errorf("%v: held for %v, want %v", path, two.Limiter(path...).State().Held, held)
		}
	}
	again, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	p.play(again, two, r, false)
	<-again.Done()
	time.Sleep(20 * time.Second) // by then all have ended
	p.check(at, was, two, learned)
	if t.Failed() {
		t.Log(p.texts, "saved at", at.Sub(p.start), "loaded after", later, text)
	}
}

// check tells which quota, hold or limit does not hold over both runs.
func (p *restart) check(at time.Time, was []State, two *Group, learned map[string]adaptive.Memory) {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.SortStableFunc(p.sent, func(a, b claimSent) int { return cmp.Compare(a.At, b.At) })
	for i, path := range p.paths {
		name := strings.Join(path, "/")
		var all []definition.Sent
		for _, s := range p.sent {
			if s.path == name || strings.HasPrefix(s.path, name+"/") {
				all = append(all, s.Sent)
				if when := p.start.Add(s.At); s.group == two && when.Before(at.Add(was[i].Held)) {
					p.t.Errorf("%s: sent at %v, held until %v", name, s.At, at.Add(was[i].Held).Sub(p.start))
				}
			}
		}
		for _, w := range learned[two.Limiter(path...).node.Digest()].Windows {
			if w.Early.IsZero() {
				continue
			}
			n, look := 0, 0
			for _, s := range p.sent {
				if s.path == name && s.group == two && p.start.Add(s.At).Before(w.Early) { // it counts for claims to this bucket alone
					n += int(s.N)
					if w.Remaining == 0 {
						look = cmp.Or(look, int(s.N)) // one goes to see whether a part is back
					}
				}
			}
			back := w.Refill*w.Early.Sub(at).Seconds() + float64(look)
			if n > w.Remaining+int(math.Ceil(back)) {
				p.t.Errorf("%s: %d sent until the reset, of %d with %d in flight: %+v", name, n, w.Remaining, was[i].InFlight, w)
			}
		}
		for _, text := range p.texts[len(path)-1] {
			q := quotas(p.t, text).Explicit()[0]
			if q.Kind == quota.FixedWindow {
				checkFixed(p.t, &q, all)
			} else if err := definition.Check(q, p.start, 0, all); err != nil {
				p.t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// checkFixed checks a window that the first request opens.
func checkFixed(t *testing.T, q *quota.Quota, sent []definition.Sent) {
	t.Helper()
	from, n := -q.Per, 0
	for _, s := range sent {
		if s.At >= from+q.Per {
			from, n = s.At, 0
		}
		if n += int(s.N); int64(n) > q.N {
			t.Errorf("%v: %d in the window from %v, at %v", q, n, from, s.At)
		}
	}
}

// TestRestarts: a run that loads what another one saved in the middle of everything goes beyond no quota whose
// span is over a minute, no hold, and not beyond what was left of a limit that the server states; and a claim
// waits no less than in the first run.
func TestRestarts(t *testing.T) {
	for seed := range seeds(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 12))
				drawRestart(t, r).run(r)
			})
		})
	}
}
