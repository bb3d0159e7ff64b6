package learning

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
)

var (
	worlds     = flag.Int("worlds", fewWorlds, "in how many worlds programs run for hours")
	worldHours = flag.Int("hours", 1, "for how many")
)

// world is hours of programs and a server that they know nothing of, drawn from a seed. The matrix ends after
// minutes; here there are
//
//   - windows of a second to an hour, buckets, logs and estimates, of a request in ten seconds to eight in a
//     second, that say much or nothing, and refuse by 429s or 503s;
//   - limits that change each ten minutes, by up to a factor of four;
//   - one to six processes that do not know of each other, come and go, rest for half of each while, or think
//     between requests;
//   - a neighbor that asks for a fifth to one and a half of what there is, without regard for refusals, half of
//     the time; and failures by chance.
type world struct {
	seed      uint64
	name      string
	algorithm pacertest.Algorithm
	rate      float64 // per second
	dialect   pacertest.Dialect
	status    int // of refusals
	latency   time.Duration
	span      time.Duration
	changing  bool
	processes []process
	neighbor  float64       // it asks for so much of the rate; zero: there is none
	phase     time.Duration // for so long it asks, and for as long it does not
	failing   float64       // this share of the answers are 503s by chance
}

// process is one process of the programs.
type process struct {
	callers     int
	from, until time.Duration
	tide        time.Duration // it asks in the first half of each, zero: always
	pause       time.Duration // between the requests of a caller, in the mean
}

// worldDialects are how servers speak.
var worldDialects = []dialect{
	{"silent", pacertest.NoHeaders},
	{"hint", pacertest.RetryAfterOnly},
	{"decimal hint", pacertest.Dialect{RetryAfter: pacertest.RetryAfterDecimal}},
	{"epoch", pacertest.XRateLimit},
	{"delta", pacertest.XRateLimitDelta},
	{"draft 7", pacertest.RateLimitDraft7},
	{"exact", pacertest.OpenAI},
	{"no reset", pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetOmitted}},
}

// drawnWorld draws a world. Numbers are even on a logarithmic scale.
func drawnWorld(seed uint64, span time.Duration) world {
	r := rand.New(rand.NewPCG(seed, 1))
	between := func(least, most float64) float64 { return least * math.Pow(most/least, r.Float64()) }
	while := func(least, most time.Duration) time.Duration {
		return time.Duration(between(float64(least), float64(most)))
	}
	one := func(of int) bool { return r.IntN(of) == 0 }
	w := world{seed: seed, span: span, rate: between(0.1, 8), status: http.StatusTooManyRequests, latency: while(5*time.Millisecond, time.Second/2), changing: one(2)}
	window := []time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour}[r.IntN(5)]
	limit := max(1, int(math.Round(w.rate*window.Seconds())))
	w.rate = max(w.rate, 1/window.Seconds())
	switch r.IntN(6) {
	case 0:
		w.algorithm = &pacertest.FixedWindow{Limit: limit, Window: window}
	case 1:
		w.algorithm = &pacertest.ClockWindow{Limit: limit, Window: window}
	case 2:
		w.algorithm = &pacertest.SlidingLog{Limit: limit, Window: window}
	case 3:
		w.algorithm = &pacertest.EstimatedWindow{Limit: limit, Window: window}
	default:
		w.algorithm = &tokens{rate: w.rate, burst: int(between(1, 60))}
	}
	d := worldDialects[r.IntN(len(worldDialects))]
	w.dialect = d.dialect
	if one(8) {
		w.status = http.StatusServiceUnavailable
	}
	if one(4) {
		w.neighbor, w.phase = between(0.2, 1.5), while(time.Minute, 30*time.Minute)
	}
	if one(6) {
		w.failing = between(0.001, 0.1)
	}
	n, tide, come := 1+r.IntN(6)*r.IntN(2), time.Duration(0), one(3)
	if one(3) {
		tide = while(time.Minute, 2*time.Hour)
	}
	for i := range n {
		p := process{callers: 1 + r.IntN(4), tide: tide, until: span}
		if one(3) {
			p.pause = while(time.Second/10, 30*time.Second)
		}
		if come && i > 0 {
			p.from = time.Duration(r.Int64N(int64(span)))
			p.until = p.from + time.Duration(r.Int64N(int64(span)))
		}
		w.processes = append(w.processes, p)
	}
	counts := strings.TrimPrefix(fmt.Sprintf("%T of %d in %v", w.algorithm, limit, window), "*")
	if b, ok := w.algorithm.(*tokens); ok {
		counts = fmt.Sprintf("bucket of %d", b.burst)
	}
	w.name = fmt.Sprintf("%s, %.2g/s (changing %v), %s, %d; %d processes, tide %v, come and go %v; a neighbor of %.1f each other %v; failing %.3f; latency %v",
		counts, w.rate, w.changing, d.name, w.status, n, tide.Round(time.Second), come, w.neighbor, w.phase.Round(time.Second), w.failing, w.latency.Round(time.Millisecond))
	return w
}

// playing is a world while it is played, and how it went.
type playing struct {
	world
	ended  <-chan struct{}
	start  time.Time
	mu     sync.Mutex // protects all below
	random *rand.Rand
	now    float64 // the rate

	waiting int       // callers whose requests are under way or wait
	since   time.Time // when waiting or the rate changed last

	wanted         float64 // what the rate gives while somebody waits, or what those who wait can take of it in round trips
	used           int     // what was served of it, also to the neighbor
	refused        int
	served         []int         // of each process
	longest        time.Duration // that a caller waited for
	failed, errors int           // answers that are not 200, and errors, that callers got
}

// play plays the world.
func (w world) play(t *testing.T) (p *playing) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		p = &playing{world: w, random: rand.New(rand.NewPCG(w.seed, 2)), now: w.rate, served: make([]int, len(w.processes))}
		p.algorithm = w.algorithm.Fresh()
		time.Sleep(time.Duration(p.random.Int64N(1e9)))
		p.start = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), w.span)
		defer cancel()
		p.ended = ctx.Done()
		var wg sync.WaitGroup
		for i, of := range w.processes {
			tr := &pacer.Transport{Base: p.base(i), Rand: p.draw}
			for range of.callers {
				wg.Go(func() { p.call(ctx, tr, of) })
			}
		}
		wg.Go(p.takeAsNeighbor)
		wg.Go(p.change)
		wg.Wait()
	})
	return p
}

func (p *playing) draw() float64 { p.mu.Lock(); defer p.mu.Unlock(); return p.random.Float64() }

// sleep reports whether the world goes on after d.
func (p *playing) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ended:
		return false
	}
}

// base is the server, and the way to it.
func (p *playing) base(process int) lab.RoundTripper {
	return func(req *http.Request) (*http.Response, error) {
		p.sleep(time.Duration((0.25 + 0.5*p.draw()) * float64(p.latency)))
		resp := lab.Answer(req, http.StatusOK, "")
		p.answer(resp, process)
		p.sleep(time.Duration((0.25 + 0.5*p.draw()) * float64(p.latency)))
		return resp, req.Context().Err()
	}
}

func (p *playing) answer(resp *http.Response, process int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing > 0 && p.random.Float64() < p.failing {
		resp.StatusCode = http.StatusServiceUnavailable
		return
	}
	now := time.Now()
	v := p.algorithm.Take(now, 1)
	p.dialect.Set(resp.Header, v, now)
	resp.Header.Set("Date", now.UTC().Format(http.TimeFormat))
	if v.OK {
		p.used++
		p.served[process]++
	} else {
		resp.StatusCode = p.status
		p.refused++
	}
}

// call asks for one request after the other. Who is told that one failed asks again after a tenth of a second,
// as impatient programs do.
func (p *playing) call(ctx context.Context, tr *pacer.Transport, of process) {
	for p.sleep(of.from - time.Since(p.start)); ctx.Err() == nil && time.Since(p.start) < of.until; {
		if at := time.Since(p.start); of.tide > 0 && at%of.tide > of.tide/2 {
			p.sleep(of.tide - at%of.tide)
			continue
		}
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.example/", http.NoBody)
		asked := time.Now()
		p.wait(1)
		resp, err := tr.RoundTrip(req)
		p.wait(-1)
		if ctx.Err() != nil {
			return
		}
		p.got(time.Since(asked), resp, err)
		if of.pause > 0 {
			p.sleep(time.Duration(2 * p.draw() * float64(of.pause)))
		}
	}
}

func (p *playing) got(took time.Duration, resp *http.Response, err error) {
	p.mu.Lock()
	p.longest = max(p.longest, took)
	failed := err == nil && resp.StatusCode != http.StatusOK
	if failed {
		p.failed++
	} else if err != nil {
		p.errors++
	}
	p.mu.Unlock()
	switch {
	case err != nil:
		p.sleep(time.Second)
	case failed:
		p.sleep(time.Second / 10)
	}
}

// wait notes that a caller waits from now on, or does no longer.
func (p *playing) wait(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.account()
	p.waiting += n
}

func (p *playing) account() {
	now := time.Now()
	if p.waiting > 0 {
		p.wanted += min(p.now, float64(p.waiting)/p.latency.Seconds()) * now.Sub(p.since).Seconds()
	}
	p.since = now
}

// takeAsNeighbor takes what the neighbor takes.
func (p *playing) takeAsNeighbor() {
	for p.neighbor > 0 && p.sleep(time.Duration(2e9*p.draw()/(p.neighbor*p.rate))) {
		if time.Since(p.start)%(2*p.phase) > p.phase {
			continue
		}
		p.mu.Lock()
		if p.algorithm.Take(time.Now(), 1).OK && p.waiting > 0 {
			p.used++
		}
		p.mu.Unlock()
	}
}

// change changes the limit each ten minutes, by a factor of a quarter to four of what it was first.
func (p *playing) change() {
	r := rand.New(rand.NewPCG(p.seed, 3))
	for p.changing && p.sleep(10*time.Minute) {
		p.mu.Lock()
		p.account()
		p.now = p.rate * math.Pow(4, 2*r.Float64()-1)
		limited(p.algorithm, time.Now(), p.now)
		p.mu.Unlock()
	}
}

// share is how much was used of what came back while somebody waited: 1 at most, as more may have been there
// before.
func (p *playing) share() float64 { return min(1, float64(p.used)/max(p.wanted, 1)) }

// String says how it went.
func (p *playing) String() string {
	return fmt.Sprintf("seed %d: used %.2f of %.0f; %d refused, %d failed, %d errors; served to each process %v, the longest wait %v; %s",
		p.seed, p.share(), p.wanted, p.refused, p.failed, p.errors, p.served, p.longest.Round(time.Second), p.name)
}

const (
	// leastShare of what comes back is used in each world, and meanShare in the mean of all. In 300 worlds of
	// three hours, it was 0.26 and 0.95: least where a bucket of one says what remains, and not until when.
	leastShare, meanShare = 0.2, 0.9
	// fewWorlds is of how many worlds the mean says something.
	fewWorlds = 16

	// mostRefused is how many are refused in each world at most for each that is served, and mostInVain how
	// many more in an hour of each process: a server that serves nothing for most of an hour is still looked
	// at. In the same worlds, 6 were refused for 100 that were served, and 3 for each in the worst.
	mostRefused, mostInVain = 2, 300
)

// TestWorlds: programs use what there is for hours, and are not refused often, whatever the server says and
// whoever else uses it. With -v, it tells how it went in each world, the worst first.
func TestWorlds(t *testing.T) {
	var all []*playing
	sum := 0.0
	for i := range *worlds {
		if *worlds == fewWorlds && !whole.Part(1, fmt.Sprint("world", i)) {
			continue
		}
		p := drawnWorld(*from+uint64(i), time.Duration(*worldHours)*time.Hour).play(t)
		all = append(all, p)
		sum += p.share()
		if served := p.allServed(); p.share() < leastShare || p.refused > mostRefused*served+mostInVain*(*worldHours)*len(p.processes) {
			t.Errorf("less than %.2f is used, or more than %d are refused for each that is served, and %d in an hour of each process: %v", leastShare, mostRefused, mostInVain, p)
		}
	}
	slices.SortFunc(all, func(a, b *playing) int { return cmp.Compare(a.share(), b.share()) })
	for _, p := range all {
		t.Log(p)
	}
	if mean := sum / float64(len(all)); mean < meanShare && len(all) >= fewWorlds {
		t.Errorf("%.2f of what there is are used in the mean, want %.2f", mean, meanShare)
	}
}

func (p *playing) allServed() (n int) {
	for _, served := range p.served {
		n += served
	}
	return n
}
