package throttle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

func TestInFlightFirstInFirstOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "2 in flight")}
		c := newCrowd()
		for i, seconds := range []int{3, 1, 1, 5, 1, 1} {
			busy := time.Duration(seconds) * time.Second
			c.claim(t.Context(), &l, fmt.Sprint(i), Claim{N: 1 + i}, busy) // each is one
		}
		c.check(t, "0 0s", "1 0s", "2 1s", "3 2s", "4 3s", "5 4s")
		if !l.Idle() {
			t.Error("not idle")
		}
	})
}

func TestInFlightBesideAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "10/s even, 2 in flight")}
		c := newCrowd()
		for i := range 5 {
			c.claim(t.Context(), &l, fmt.Sprint(i), Claim{}, 250*time.Millisecond)
		}
		c.check(t, "0 0s", "1 100ms", "2 250ms", "3 350ms", "4 500ms")
	})
}

// TestInFlightEnds: until when a request is under way.
func TestInFlightEnds(t *testing.T) {
	for name, test := range map[string]struct {
		quota string
		end   func(g *Grant)
		free  bool
	}{
		"answered":                     {"1 in flight", func(g *Grant) { g.Answered(Answer{}) }, true},
		"refused":                      {"1 in flight", func(g *Grant) { g.Answered(Answer{Refused: true, Hold: &quota.Hold{For: 1}}) }, true},
		"lost":                         {"1 in flight", func(g *Grant) { g.Answered(Answer{Lost: true}) }, true},
		"not sent":                     {"1 in flight", func(g *Grant) { g.Cancel() }, true},
		"is read":                      {"1 in flight", func(g *Grant) { open(t, g, Answer{Reading: true}, true) }, false},
		"done":                         {"1 in flight", func(g *Grant) { g.Done() }, true},
		"was read":                     {"1 in flight", func(g *Grant) { g.Answered(Answer{Reading: true}); g.Done() }, true},
		"canceled while it is read":    {"1 in flight", func(g *Grant) { g.Answered(Answer{Reading: true}); g.Cancel() }, false},
		"settled":                      {"1 in flight", func(g *Grant) { g.Settle(quota.Costs{quota.Requests: 0}) }, false},
		"unanswered":                   {"1 unanswered", func(g *Grant) { g.Settle(quota.Costs{quota.Requests: 0}) }, false},
		"unanswered, is read":          {"1 unanswered", func(g *Grant) { open(t, g, Answer{Reading: true}, false) }, true},
		"unanswered, not sent":         {"1 unanswered", func(g *Grant) { g.Cancel() }, true},
		"both, is read":                {"1 unanswered, 1 in flight", func(g *Grant) { g.Answered(Answer{Reading: true}) }, false},
		"both, was read":               {"1 in flight, 1 unanswered", func(g *Grant) { g.Answered(Answer{Reading: true}); g.Done() }, true},
		"more in flight than answered": {"2 in flight, 1 unanswered", func(g *Grant) { g.Answered(Answer{Reading: true}) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Quotas: quotas(t, test.quota), Rand: noJitter}
				g := grant(t, l, Claim{})
				if got, want := g.Lasts(), test.quota != "1 unanswered"; got != want {
					t.Errorf("Lasts is %v, want %v", got, want)
				}
				_, w := join(t, l, Claim{})
				if Cause(w.expected.Cause) != CauseInFlight {
					t.Errorf("waits for %+v", w.expected)
				}
				test.end(g)
				time.Sleep(time.Second)
				synctest.Wait()
				if gone(w) != test.free {
					t.Errorf("the next one goes: %v, want %v", gone(w), test.free)
				}
				w.Leave()
			})
		})
	}
}

func TestInFlightEndedTwiceFreesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "2 in flight")}
		g, _ := grant(t, l, Claim{}), grant(t, l, Claim{})
		g.Answered(Answer{Reading: true})
		for range 3 {
			g.Done()
		}
		grant(t, l, Claim{})
		if _, _, err := l.Join(t.Context(), Claim{MaxWait: -1}); !errors.Is(err, ErrWouldWait) {
			t.Errorf("a third one: %v, want ErrWouldWait", err)
		}
	})
}

// wantAcquire is the error of a Wait for a bucket "a" with a quota that is not in requests, or wants to know
// when they end.
func wantAcquire(quota string) string {
	why := "are for quotas in requests, want Acquire with Costs"
	if strings.Contains(quota, "flight") || strings.Contains(quota, "unanswered") {
		why = "cannot say when a request ends, want Acquire and Grant.Done"
	}
	return `throttle: a: not sent: claim does not fit a quota: Wait and Allow ` + why + ` for "` + quota + `"`
}

// TestWaitAndAllowAreForQuotasInRequests: what they would not draw on, and what nobody would give back, is an
// error.
func TestWaitAndAllowAreForQuotasInRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for text, quota := range map[string]string{
			"2 in flight, 5/s": "2 in flight", "1/s, 2 unanswered": "2 unanswered", "30000 tokens/m": "30000 tokens/m",
			"5/s burst 10, 1MiB/s debt": "1MiB/s debt",
		} {
			for _, l := range []*Limiter{{Name: "a", Quotas: quotas(t, text)}, {Quotas: quotas(t, "5/s"), Parent: &Limiter{Name: "a", Quotas: quotas(t, text)}}} {
				err := l.Wait(t.Context(), 3)
				want := wantAcquire(quota)
				if !errors.Is(err, ErrUnit) || err.Error() != want {
					t.Errorf("%s: %v\nwant %s", text, err, want)
				}
				if l.Allow(1) {
					t.Errorf("%s: Allow grants", text)
				}
				grant(t, l, Claim{})
			}
		}
		l := &Limiter{Quotas: quotas(t, "5/s, no limit, 3/s burst 3")}
		if err := l.Wait(t.Context(), 1); err != nil || !l.Allow(1) {
			t.Error(err)
		}
	})
}

// TestWaitIsToldOfAQuotaInAnotherUnit: a Wait that stands in line when such a quota comes, here or above, is
// told then, and not granted what it does not draw on. A claim that says what it costs waits on.
func TestWaitIsToldOfAQuotaInAnotherUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for text, quota := range map[string]string{"1/m log, 30000 tokens/m": "30000 tokens/m", "2 in flight, 1/m log": "2 in flight"} {
			for _, above := range []bool{false, true} {
				account := &Limiter{Name: "a", Quotas: quotas(t, "1/m log")}
				l := &Limiter{Name: "a", Quotas: quotas(t, "1/m log"), Parent: account}
				changed := l
				if above {
					changed = account
				}
				begun := time.Now()
				if err := l.Wait(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				wg.Go(func() {
					err := l.Wait(t.Context(), 1)
					want := wantAcquire(quota)
					if !errors.Is(err, ErrUnit) || err.Error() != want || time.Since(begun) != time.Second {
						t.Errorf("%s: %v after %v\nwant %s after a second", text, err, time.Since(begun), want)
					}
				})
				wg.Go(func() {
					if _, err := l.Acquire(t.Context(), Claim{}); err != nil || time.Since(begun) != time.Minute {
						t.Errorf("%s: a claim that says what it costs: %v after %v, want to go after a minute", text, err, time.Since(begun))
					}
				})
				time.Sleep(time.Second)
				if err := changed.SetQuotas(quotas(t, text)); err != nil {
					t.Fatal(err)
				}
				wg.Wait()
			}
		}
	})
}

func TestInFlightIdleAndState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "5 in flight")}
		l := &Limiter{Parent: host}
		g := grant(t, l, Claim{})
		time.Sleep(time.Hour)
		if s := l.State(); s.InFlight != 1 || l.Idle() || host.Idle() {
			t.Errorf("%+v; idle %v, the host %v: one is under way", s, l.Idle(), host.Idle())
		}
		g.Answered(Answer{Reading: true})
		if s := l.State(); s.InFlight != 0 || l.Idle() || host.Idle() {
			t.Errorf("%+v; idle %v, the host %v: one is read", s, l.Idle(), host.Idle())
		}
		g.Done()
		if !l.Idle() || !host.Idle() {
			t.Error("not idle")
		}
		_, _ = grant(t, l, Claim{}), grant(t, host, Claim{})
		host.SetQuotas(quotas(t, "2 in flight"))
		if s := host.State(); s.Next != (Forecast{Cause: CauseInFlight, Quota: "2 in flight"}) {
			t.Errorf("next %+v, want that it waits for an answer, and nobody knows for how long", s.Next)
		}
	})
}

func TestInFlightMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Name: "api", Quotas: quotas(t, "1 in flight"), MaxWait: time.Second}
		c := newCrowd()
		c.claim(t.Context(), &l, "a", Claim{}, 1500*time.Millisecond)
		c.claim(t.Context(), &l, "b", Claim{}, 0)
		time.Sleep(700 * time.Millisecond)
		c.claim(t.Context(), &l, "c", Claim{}, 0)
		c.check(t, "a 0s", "b refused 1s", "c 1.5s")
		var e *Error
		if err := c.errs[0]; !errors.Is(err, ErrMaxWait) || !errors.As(err, &e) || e.Cause != CauseInFlight || e.Quota != "1 in flight" || e.Bucket != "api" {
			t.Errorf("got %+v", c.errs[0])
		}
	})
}

func TestInFlightDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "1 in flight")}
		c := newCrowd()
		c.claim(t.Context(), &l, "a", Claim{}, 2*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c.claim(ctx, &l, "b", Claim{}, 0) // may come in time, for all that is known
		c.claim(t.Context(), &l, "c", Claim{}, 0)
		c.check(t, "a 0s", "b refused 1s", "c 2s")
		if err := c.errs[0]; !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// Nobody's timer fires while all that can happen is an answer.
func TestInFlightNoTimerFires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "1 in flight")}
		l := &Limiter{Parent: host, Quotas: quotas(t, "1 unanswered, 1000/s burst 1000")}
		g := grant(t, l, Claim{})
		_, w := join(t, l, Claim{})
		_, v := join(t, host, Claim{})
		time.Sleep(time.Millisecond) // w counts from when it joined, when the line is looked at again
		_, u := join(t, l, Claim{Priority: Background})
		host.asRoot.mu.Lock() // a timer that fires waits here, and then time does not go on
		time.Sleep(10 * 365 * 24 * time.Hour)
		host.asRoot.mu.Unlock()
		g.Cancel()
		if !gone(w) || gone(v) {
			t.Errorf("gone %v and %v, want the first", gone(w), gone(v))
		}
		u.Leave()
		v.Leave()
	})
}

func TestInFlightSetQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "2 in flight")}
		var grants []*Grant
		var ws []*Waiter
		for range 2 {
			grants = append(grants, grant(t, l, Claim{}))
		}
		for range 6 {
			_, w := join(t, l, Claim{})
			ws = append(ws, w)
		}
		want := func(n int) {
			t.Helper()
			got := 0
			for _, w := range ws {
				if gone(w) {
					got++
				}
			}
			if got != n {
				t.Errorf("%d of the waiters went, want %d", got, n)
			}
		}
		set := func(text string) {
			t.Helper()
			if err := l.SetQuotas(quotas(t, text)); err != nil {
				t.Fatal(err)
			}
		}
		set("3 in flight")
		want(1)
		set("1 in flight")
		grants[0].Answered(Answer{})
		want(1) // 2 are under way
		grants[1].Answered(Answer{})
		want(1)
		ws[0].Granted().Answered(Answer{})
		want(2)
		set("1 in flight, 100/s burst 100") // at the same place: it remembers
		want(2)
		set("")
		want(6)
		set("1 in flight") // starts anew
		grant(t, l, Claim{})
		for _, w := range ws[1:] {
			w.Granted().Answered(Answer{}) // frees nothing of what is new
		}
		if _, _, err := l.Join(t.Context(), Claim{MaxWait: -1}); !errors.Is(err, ErrWouldWait) {
			t.Errorf("got %v, want ErrWouldWait", err)
		}
	})
}

// TestInFlightAgainstModel runs random histories through a host that bounds what is in
// flight, and in another unit what is unanswered, and two routes below it with bounds of
// their own. At each moment exactly those are under way who are by definition: the first
// of each bucket in the order in which they asked, as long as there is room.
func TestInFlightAgainstModel(t *testing.T) {
	for seed := range seeds(15) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { inFlightAgainstModel(t, rand.New(rand.NewPCG(seed, 7))) })
		})
	}
}

// flightModel is a host that bounds what is in flight, and what is unanswered, with two routes below it; and
// who is under way in each by definition.
type flightModel struct {
	r      *rand.Rand
	ls     [3]*Limiter // the host and the routes
	most   [3]int      // in flight, of each
	units  int         // unanswered, of the host
	claims []*flight   // in the order in which they asked
}

// flight is a claim of a flightModel.
type flight struct {
	in, n  int // the bucket, and the cost in units
	state  flightState
	waiter *Waiter
	grant  *Grant
}

type flightState int

const (
	inLine flightState = iota
	isUnanswered
	isRead
	isOver
)

func newFlightModel(r *rand.Rand) *flightModel {
	m := &flightModel{r: r, units: 4 + r.IntN(4)}
	for i := range m.ls {
		m.most[i] = 1 + r.IntN(4)
		m.ls[i] = &Limiter{Quotas: m.quotas(i)}
		if i > 0 {
			m.ls[i].Parent = m.ls[0]
		}
	}
	return m
}

func (m *flightModel) quotas(i int) quota.Quotas {
	if i > 0 {
		return quota.Quotas{{Kind: quota.InFlight, N: int64(m.most[i])}}
	}
	return quota.Quotas{{Kind: quota.InFlight, N: int64(m.most[i])}, {Kind: quota.Unanswered, N: int64(m.units), Unit: "units"}}
}

// fits reports whether there is room for a claim in bucket i.
func (m *flightModel) fits(c *flight, i int) bool {
	used, unanswered := 0, 0
	for _, o := range m.claims {
		if (o.state == isUnanswered || o.state == isRead) && (i == 0 || o.in == i) {
			used++
		}
		if o.state == isUnanswered {
			unanswered += o.n
		}
	}
	return used < m.most[i] && (i > 0 || unanswered+c.n <= m.units)
}

// serve has those go who may: the first of each route competes at the host, where nobody passes another.
func (m *flightModel) serve() {
	for again := true; again; {
		again = false
		var seen [3]bool
		for _, c := range m.claims {
			if c.state != inLine || seen[c.in] {
				continue
			}
			seen[c.in] = true
			if c.in > 0 && !m.fits(c, c.in) {
				continue // waits below
			}
			if again = m.fits(c, 0); again {
				c.state = isUnanswered
			}
			break
		}
	}
}

func (m *flightModel) check(t *testing.T, what string) {
	t.Helper()
	checkSettled(t, m.ls[:]...)
	m.serve()
	for i, c := range m.claims {
		went := c.waiter == nil || gone(c.waiter)
		if went != (c.state != inLine) {
			t.Fatalf("after %s, claim %d of %d in %d went: %v; in the model: %v", what, i, c.n, c.in, went, !went)
		}
	}
	m.fetch()
}

// fetch has those that went have their grants.
func (m *flightModel) fetch() {
	for _, c := range m.claims {
		if c.state == isUnanswered && c.grant == nil {
			c.grant = c.waiter.Granted()
		}
	}
}

// some returns a claim in a state, nil if there is none.
func (m *flightModel) some(state flightState) *flight {
	var of []*flight
	for _, c := range m.claims {
		if c.state == state {
			of = append(of, c)
		}
	}
	if len(of) == 0 {
		return nil
	}
	return of[m.r.IntN(len(of))]
}

// ask makes a claim in some bucket.
func (m *flightModel) ask(t *testing.T) {
	t.Helper()
	c := &flight{in: m.r.IntN(3), n: m.r.IntN(5)}
	m.claims = append(m.claims, c)
	c.grant, c.waiter = join(t, m.ls[c.in], Claim{Costs: quota.Costs{"units": int64(c.n)}})
	m.check(t, "a claim")
}

// drop has a claim leave the line.
func (m *flightModel) drop(t *testing.T, leave func(*Waiter)) {
	t.Helper()
	c := m.some(inLine)
	if c == nil {
		return
	}
	m.claims = slices.DeleteFunc(m.claims, func(o *flight) bool { return o == c })
	leave(c.waiter)
	m.check(t, "one that left")
}

// end ends all, in order. Those that wait leave, and so others go.
func (m *flightModel) end() {
	for _, c := range m.claims {
		was := c.state
		c.state = isOver
		switch was {
		case inLine:
			c.waiter.Leave()
		case isUnanswered:
			c.grant.Answered(Answer{})
		case isRead:
			c.grant.Done()
		}
		m.serve()
		m.fetch()
	}
}

func inFlightAgainstModel(t *testing.T, r *rand.Rand) {
	t.Helper()
	m := newFlightModel(r)
	canceled := canceledContext(t)
	for range 300 {
		switch k := r.IntN(14); k {
		case 0, 1, 2, 3, 4:
			m.ask(t)
		case 5, 6, 7:
			if c := m.some(isUnanswered); c != nil {
				if c.state = isOver; k%2 == 0 {
					c.state = isRead
				}
				c.grant.Answered(Answer{Reading: c.state == isRead})
				m.check(t, "an answer")
			}
		case 8, 9:
			if c := m.some(isRead); c != nil {
				c.state = isOver
				c.grant.Done()
				m.check(t, "what was read")
				c.grant.Done()
				m.check(t, "that it was ended twice")
			}
		case 10:
			if c := m.some(isUnanswered); c != nil {
				c.state = isOver
				c.grant.Cancel()
				m.check(t, "a cancel")
			}
		case 11:
			m.drop(t, func(w *Waiter) { w.Wait(canceled) })
		case 12:
			m.drop(t, func(w *Waiter) { w.Leave() })
		case 13:
			i := r.IntN(3)
			m.most[i] = 1 + r.IntN(5)
			m.ls[i].SetQuotas(m.quotas(i))
			m.check(t, "SetQuotas")
		}
	}
	m.end()
	for i, l := range m.ls {
		if s := l.State(); !l.Idle() || s.InFlight != 0 || s.Waiting != 0 {
			t.Errorf("bucket %d in the end: idle %v, %+v", i, l.Idle(), s)
		}
	}
}

// TestReadingWithoutASlotNeedsNoSecondDone: only who holds a slot has to close.
func TestReadingWithoutASlotNeedsNoSecondDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10 tokens/s burst 10")}
		g := grant(t, l, tokens(1))
		if g.Lasts() {
			t.Error("lasts")
		}
		g.Answered(Answer{Reading: true})
		time.Sleep(time.Hour)
		if !l.Idle() {
			t.Error("not idle: it holds no slot, so no Done is needed")
		}
		h := grant(t, l, Claim{})
		h.Answered(Answer{Reading: true, Spent: quota.Costs{"tokens": 1}})
		h.Done()
		g.Done()
		time.Sleep(time.Hour)
		if !l.Idle() {
			t.Error("not idle after Done")
		}
		u := grant(t, l, tokens(1))
		if !u.Answered(Answer{Reading: true, Unsettled: true}).Open {
			t.Error("does not wait for Done")
		}
		time.Sleep(time.Hour)
		if l.Idle() {
			t.Error("idle, while a cost is still to be told")
		}
		u.Settle(quota.Costs{"tokens": 5})
		u.Done()
		time.Sleep(time.Hour)
		if !l.Idle() {
			t.Error("not idle when the cost was told")
		}
	})
}
