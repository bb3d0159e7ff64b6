package throttle

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/definition"
)

// TestKindsAgainstHistory runs random claims through a Limiter: of any weight,
// canceled in line and after the grant, through pauses and idling. Everybody goes in
// exactly the same millisecond in which the definition of the quotas first has
// room, one kind alone and two together. (Not of an EstimatedWindow, which has room
// between milliseconds.)
func TestKindsAgainstHistory(t *testing.T) {
	needs64(t)
	gave := 0
	for seed := range seeds(2) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, q := range definition.Windowed(r)[:7] {
			t.Run(fmt.Sprint(q, " ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { gave += againstHistory(t, r, quota.Quotas{q}) })
			})
			other := definition.Windowed(r)[r.IntN(7)]
			t.Run(fmt.Sprint(q, " and ", other, " ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { gave += againstHistory(t, r, quota.Quotas{q, other}) })
			})
		}
	}
	if gave < 50 {
		t.Errorf("only %d were given back", gave)
	}
}

// againstHistory returns how many grants were given back.
func againstHistory(t *testing.T, r *rand.Rand, qs quota.Quotas) (gave int) {
	t.Helper()
	time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond) // anywhere on the grid
	start := time.Now()
	model := make([]*definition.History, len(qs))
	heaviest := math.MaxInt
	for i, q := range qs {
		model[i] = &definition.History{Quota: q, Unit: time.Millisecond, Wall: int(start.UnixMilli())}
		heaviest = min(heaviest, int(q.N))
	}
	l := &Limiter{Quotas: qs}

	type claim struct {
		n, went int // went is negative while it waits
		waiter  *Waiter
		grant   *Grant
	}
	var line, granted []*claim
	held, went := 0, 0
	serve := func(now int) { // lets those go who may by definition
		for len(line) > 0 && now >= held {
			c := line[0]
			for _, h := range model {
				if int64(h.Used(now)+c.n) > h.Quota.N {
					return
				}
			}
			for _, h := range model {
				h.Went = append(h.Went, definition.Charge{At: now, N: c.n})
			}
			c.went, line, granted = now, line[1:], append(granted, c)
			went++
		}
	}
	check := func(c *claim, went bool, now int) {
		t.Helper()
		if went != (c.went >= 0) {
			t.Fatalf("at %d ms, one of %d went: %v; by definition: %v", now, c.n, went, !went)
		}
	}
	canceled := canceledContext(t)
	busy := 0
	for now := range 600 {
		if now > 0 {
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		waiting := slices.Clone(line)
		serve(now)
		for _, c := range waiting {
			select {
			case <-c.waiter.done.C:
				c.grant = c.waiter.Granted()
				check(c, true, now)
			default:
				check(c, false, now)
			}
		}
		if now%60 == 0 {
			busy = r.IntN(4)
		}
		for range r.IntN(1 + busy) {
			switch k := r.IntN(20); {
			case k < 12:
				c := &claim{n: 1 + r.IntN(min(heaviest, 1+r.IntN(heaviest))), went: -1}
				g, w, err := l.Join(t.Context(), Claim{N: c.n})
				if err != nil {
					t.Fatal(err)
				}
				c.grant, c.waiter = g, w
				line = append(line, c)
				serve(now)
				check(c, w == nil, now)
			case k < 14 && len(line) > 0:
				i := r.IntN(len(line))
				c := line[i]
				line = slices.Delete(line, i, i+1)
				waiting := slices.Clone(line)
				if _, err := c.waiter.Wait(canceled); err == nil {
					t.Fatal("canceled, and granted")
				}
				serve(now)
				for _, c := range waiting {
					select {
					case <-c.waiter.done.C:
						c.grant = c.waiter.Granted()
					default:
					}
					check(c, c.grant != nil, now)
				}
			case k < 16 && len(granted) > 0:
				i := len(granted) - 1 - r.IntN(min(len(granted), 8))
				c := granted[i]
				alike := true
				for _, h := range model {
					_, ok := h.Without(definition.Charge{At: c.went, N: c.n})
					alike = alike && ok
				}
				if !alike {
					continue
				}
				for _, h := range model {
					h.Went, _ = h.Without(definition.Charge{At: c.went, N: c.n})
				}
				granted = slices.Delete(granted, i, i+1)
				gave++
				waiting := slices.Clone(line)
				c.grant.Cancel()
				serve(now)
				for _, c := range waiting {
					select {
					case <-c.waiter.done.C:
						c.grant = c.waiter.Granted()
					default:
					}
					check(c, c.grant != nil, now)
				}
			case k == 19:
				d := r.IntN(20)
				l.Pause(time.Duration(d) * time.Millisecond)
				held = max(held, now+d)
			}
		}
	}
	if went < 5 {
		t.Errorf("only %d went", went)
	}
	for _, c := range line {
		c.waiter.Wait(canceled)
	}
	return gave
}

// needs64 skips tests whose model reckons in int.
func needs64(t *testing.T) {
	t.Helper()
	if strconv.IntSize < 64 {
		t.Skip("nanoseconds need 64 bits")
	}
}

// TestClockWindowFollowsTheClock, whenever the quota is first heard of: in a bucket below
// one that is older, in a change of quotas, after a pause.
func TestClockWindowFollowsTheClock(t *testing.T) {
	grid := quotas(t, "2/s window grid")
	for name, begin := range map[string]func(l *Limiter){
		"at once": func(l *Limiter) { l.Quotas = grid },
		"set":     func(l *Limiter) { l.State(); time.Sleep(123 * time.Millisecond); l.SetQuotas(grid) },
		"paused":  func(l *Limiter) { l.Quotas = grid; l.Pause(5300 * time.Millisecond) },
		"below": func(l *Limiter) {
			l.Quotas = grid
			l.Parent = &Limiter{}
			l.Parent.State()
			time.Sleep(123 * time.Millisecond)
		},
		"above":       func(l *Limiter) { l.Parent = &Limiter{Quotas: grid} },
		"set, paused": func(l *Limiter) { l.Pause(5300 * time.Millisecond); l.SetQuotas(grid) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(456 * time.Millisecond)
				l := &Limiter{}
				begin(l)
				in := map[int64]int{}
				for range 8 {
					if err := l.Wait(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
					in[time.Now().Unix()]++
					if at := time.Now().Nanosecond(); len(in) > 1 && at != 0 {
						t.Errorf("one went %d ns into a second, want all at its start", at)
					}
				}
				if len(in) != 4 {
					t.Errorf("8 went in %v, want 2 a second", in)
				}
			})
		})
	}
}

// stating has n requests go now and be answered, each with a statement of a limit of 50 of which so much
// remains, and which is restored in so long.
func stating(t *testing.T, l *Limiter, n, remaining int, reset time.Duration) {
	t.Helper()
	for i := range n {
		g, err := l.Acquire(t.Context(), Claim{MaxWait: -1})
		if err != nil {
			t.Fatalf("request %d of %d: %v", i, n, err)
		}
		g.Answered(Answer{Statements: []quota.Statement{{Limit: 50, Remaining: int64(remaining + n - 1 - i), Reset: reset, ResetKnown: true}}})
	}
}

// waitOf is for how long one request would wait.
func waitOf(l *Limiter) time.Duration { return l.Forecast(Claim{}).Wait }

// TestAPlainQuotaIsWhatItSays: N at once if need be, and no more than N in any span.
func TestAPlainQuotaIsWhatItSays(t *testing.T) {
	for _, n := range []int{1, 5, 64, 65, 5000, 1_000_000} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Quotas: quota.Quotas{{N: int64(n), Per: time.Hour}}}
			start, span := time.Now(), time.Hour
			if err := l.Wait(t.Context(), n); err != nil || time.Since(start) != 0 {
				t.Errorf("%d at once: %v, after %v", n, err, time.Since(start))
			}
			if got := waitOf(l); got != span {
				t.Errorf("%d went, and the next waits %v, want %v", n, got, span)
			}
			time.Sleep(span)
			if err := l.Wait(t.Context(), n); err != nil || time.Since(start) != span {
				t.Errorf("%d again: %v, after %v", n, err, time.Since(start))
			}
		})
	}
}

// TestAPartOfAListKeepsItsMeaning: whatever stands beside it.
func TestAPartOfAListKeepsItsMeaning(t *testing.T) {
	alone := quotas(t, "5000/h").Explicit()[0]
	for _, text := range []string{"5/s, 5000/h", "5000/h, 5/s", "1/h, 5000/h", "5/s even, 5000/h"} {
		found := false
		for _, q := range quotas(t, text).Explicit() {
			found = found || q == alone
		}
		if !found {
			t.Errorf("%s: 5000/h has become %+v", text, quotas(t, text).Explicit())
		}
	}
}

// TestAPlainQuotaBelievesTheServer: as long as that states the same limit.
func TestAPlainQuotaBelievesTheServer(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		told string
		went int           // at 1.5 s
		wait time.Duration // of one more at 2 s, when the server's window ended
	}{
		"plain":             {"50/2s", 50, 0},
		"a log":             {"50/2s log", 50, 3 * s / 2},
		"a window":          {"50/2s window", 50, 3 * s / 2},
		"a lower N beside":  {"40/2s, 50/2s", 40, 3 * s / 2},
		"a shorter span":    {"50/400ms, 40/h", 40, time.Hour - s/2},
		"a unit not spoken": {"50/2s, 5 tokens/h", 50, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Quotas: quotas(t, c.told), Rand: func() float64 { return 0 }}
				time.Sleep(1500 * time.Millisecond)
				stating(t, l, c.went, 50-c.went, s/2)
				time.Sleep(s / 2)
				if got := waitOf(l); got != c.wait {
					t.Errorf("waits %v, want %v", got, c.wait)
				}
			})
		})
	}
}

// TestAPlainQuotaDelaysAgain: when answers state nothing, when the reset has passed, and after a refusal that
// no statement explains.
func TestAPlainQuotaDelaysAgain(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		then  func(t *testing.T, l *Limiter)
		waits bool
	}{
		"believed":             {func(*testing.T, *Limiter) {}, false},
		"an answer of nothing": {func(_ *testing.T, l *Limiter) { g, _ := l.Observe(Claim{}); g.Answered(Answer{}) }, false},
		"four answers of nothing": {func(_ *testing.T, l *Limiter) {
			for range 4 {
				g, _ := l.Observe(Claim{})
				g.Answered(Answer{})
			}
		}, true},
		"a lost one": {func(_ *testing.T, l *Limiter) { g, _ := l.Observe(Claim{}); g.Answered(Answer{Lost: true}) }, false},
		"the reset":  {func(*testing.T, *Limiter) { time.Sleep(s) }, true},
		"more than there is": {func(_ *testing.T, l *Limiter) {
			g, _ := l.Observe(Claim{})
			g.Answered(Answer{Statements: []quota.Statement{{Limit: 50, Remaining: 51, Reset: s, ResetKnown: true}}})
		}, true},
		"another limit": {func(_ *testing.T, l *Limiter) { l.sayOther() }, true},
		"a refusal": {func(_ *testing.T, l *Limiter) {
			g, _ := l.Observe(Claim{})
			g.Answered(Answer{Refused: true})
			time.Sleep(s / 2) // the hold is over
		}, true},
		"a statement after a refusal": {func(_ *testing.T, l *Limiter) {
			g, _ := l.Observe(Claim{})
			g.Answered(Answer{Refused: true})
			time.Sleep(s / 2)
			g, _ = l.Observe(Claim{})
			g.Answered(Answer{Statements: []quota.Statement{{Limit: 50, Remaining: 10, Reset: s / 4, ResetKnown: true}}})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Quotas: quotas(t, "50/2s"), Rand: func() float64 { return 0 }}
				time.Sleep(s)
				stating(t, l, 40, 10, s)
				g, _ := l.Observe(Claim{N: 10}) // the quota is used up; the server has room
				g.Answered(Answer{Statements: []quota.Statement{{Limit: 50, Remaining: 30, Reset: s, ResetKnown: true}}})
				c.then(t, l)
				if got := waitOf(l); (got > 0) != c.waits {
					t.Errorf("waits %v, want a wait: %v", got, c.waits)
				}
			})
		})
	}
}

// sayOther has an answer state another limit, and nothing of the one of 50.
func (l *Limiter) sayOther() {
	g, _ := l.Observe(Claim{})
	g.Answered(Answer{Statements: []quota.Statement{{Name: "other", Limit: 7, Remaining: 5, Reset: time.Second, ResetKnown: true}}})
}

// TestALongPlainQuotaIsNotUsedUpAtOnce: four fifths go at once; the rest is spread over the hour.
func TestALongPlainQuotaIsNotUsedUpAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "50/h"), MaxStandstill: 2 * time.Minute}
		start := time.Now()
		var at []time.Duration
		for range 50 {
			if err := l.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			at = append(at, time.Since(start).Round(time.Second))
		}
		if at[40] != 0 || at[41] != 2*time.Minute || at[49] != 18*time.Minute {
			t.Errorf("went at %v, want 41 at once and the others two minutes apart", at)
		}
		short := &Limiter{Quotas: quotas(t, "50/m"), MaxStandstill: 2 * time.Minute}
		if err := short.Wait(t.Context(), 50); err != nil {
			t.Error(err)
		}
		if got := waitOf(short); got != time.Minute {
			t.Errorf("of a minute, the next waits %v", got)
		}
		// Who waits for no standstill is not to wait for the next of what is spread.
		impatient := &Limiter{Quotas: quotas(t, "50/h"), MaxStandstill: -1}
		for range 50 {
			if err := impatient.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestAPlainQuotaOfAParentIsBelievedOnceTheFirstIsAnswered: the first request of a bucket below may have
// waited, so that another bucket's lock let it go. Its answer, whatever it says, shows that it is counted
// elsewhere; until then nobody knows, and the quota counts for itself.
func TestAPlainQuotaOfAParentIsBelievedOnceTheFirstIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "5/10s")}
		stated, silent := &Limiter{Parent: host}, &Limiter{Parent: host}
		for range 5 {
			grant(t, stated, Claim{}).Answered(Answer{})
		}
		g, err := silent.Acquire(t.Context(), Claim{}) // not by Waiter.Wait, which takes the lock of this bucket
		if err != nil {
			t.Fatal(err)
		}
		g.Answered(Answer{})
		checkTree(t, stated, silent)
		for left := 4; left >= 1; left-- {
			a := Answer{Statements: []quota.Statement{{Limit: 5, Remaining: int64(left), Reset: 10 * time.Second, ResetKnown: true, Window: 10 * time.Second}}}
			grant(t, stated, Claim{}).Answered(a)
		}
		if f := stated.Forecast(Claim{}); f.Wait != 0 {
			t.Errorf("the server says that one remains, and a claim waits: %+v", f)
		}
	})
}

// TestAPlainQuotaOfAParent: what the server states to the requests of a bucket below is believed too.
func TestAPlainQuotaOfAParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "50/2s")}
		route := &Limiter{Parent: host, Quotas: quotas(t, "100/s"), Rand: func() float64 { return 0 }}
		time.Sleep(1500 * time.Millisecond)
		stating(t, route, 50, 0, time.Second/2)
		time.Sleep(time.Second / 2)
		if got := waitOf(route); got != 0 {
			t.Errorf("waits %v, want 0s", got)
		}
		if got := waitOf(host); got != 1500*time.Millisecond {
			t.Errorf("who asks the host waits %v, want 1.5s", got)
		}
	})
}

// TestAPlainQuotaIsNotBelievedForEver: after the reset of a limit that was used up, one request finds out, and
// as long as nothing is stated, no other; and without a reset nobody knows when the server counts anew.
func TestAPlainQuotaIsNotBelievedForEver(t *testing.T) {
	stated := func(remaining int, known bool) Answer {
		return Answer{Statements: []quota.Statement{{Limit: 10, Remaining: int64(remaining), Window: time.Minute, Reset: 5 * time.Second, ResetKnown: known}}}
	}
	for _, c := range []struct {
		remaining int // after the tenth
		known     bool
		then      Answer
		want      int // in the rest of the minute
	}{
		{0, true, Answer{Lost: true}, 1},
		{0, false, stated(0, false), 0},
		{9, false, stated(9, false), 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Quotas: quotas(t, "10/m"), Rand: noJitter}
			for i := range 10 {
				grant(t, l, Claim{}).Answered(stated(max(9-i, c.remaining), c.known))
			}
			went := 0
			for start := time.Now(); time.Since(start) < 59*time.Second; time.Sleep(10 * time.Millisecond) {
				if g, err := l.Acquire(t.Context(), Claim{MaxWait: -1}); err == nil {
					went++
					g.Answered(c.then)
				}
			}
			if went != c.want {
				t.Errorf("%+v: %d went, want %d", c, went, c.want)
			}
		})
	}
}

// TestAPlainQuotaIsSpreadEvenly: a quota that is spread evenly lets N go in each span, and not less.
func TestAPlainQuotaIsSpreadEvenly(t *testing.T) {
	for _, text := range []string{"50/m", "60/m"} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Quotas: quotas(t, text), Spend: SpendEven}
			n, start := l.Quotas[0].N, time.Now()
			for range 3 * n {
				if err := l.Wait(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := time.Since(start), time.Minute/time.Duration(n)*time.Duration(3*n-1); got != want {
				t.Errorf("%s: three spans' worth took %v, want %v", text, got, want)
			}
		})
	}
}

// TestSpreadIsTheCause: who waits although something remains is told why.
func TestSpreadIsTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/h"), MaxStandstill: 2 * time.Minute}
		for range 9 {
			grant(t, l, Claim{})
		}
		if f := l.Forecast(Claim{}); f.Cause != CauseSpread || f.Quota != "10/h" || f.Wait != 2*time.Minute {
			t.Errorf("%+v", f)
		}
		l.Observe(Claim{})
		if f := l.Forecast(Claim{}); f.Cause != CausePace || f.Wait != time.Hour {
			t.Errorf("used up: %+v", f)
		}
	})
}

// TestCalendarInALimiter: days of a zone have 23 and 25 hours where clocks are changed, and months are of the
// calendar. Forecasts, State, errors and grants speak of the same nanosecond.
func TestCalendarInALimiter(t *testing.T) {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	at := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, zone) }
	for _, test := range []struct {
		text        string
		start, next time.Time
		lasts       time.Duration // of the window after that
	}{
		{"3/d window grid in America/Los_Angeles", at(2000, 4, 1).Add(5 * time.Hour), at(2000, 4, 2), 23 * time.Hour},
		{"3/d window grid in America/Los_Angeles", at(2000, 10, 28).Add(5 * time.Hour), at(2000, 10, 29), 25 * time.Hour},
		{"3/w window grid in America/Los_Angeles", at(2000, 3, 30), at(2000, 4, 3), 7 * 24 * time.Hour},
		{"3/month window grid", time.Date(2000, 1, 31, 23, 0, 0, 1, time.UTC), time.Date(2000, 2, 1, 0, 0, 0, 0, time.UTC), 29 * 24 * time.Hour},
		{"3/month from 31 in America/Los_Angeles", at(2000, 2, 1), at(2000, 2, 29), 31 * 24 * time.Hour},
		{"3/month", at(2000, 2, 29), time.Date(2000, 3, 1, 0, 0, 0, 0, time.UTC), 31 * 24 * time.Hour},
		{"3/year", at(2000, 12, 20), time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC), 365 * 24 * time.Hour},
	} {
		if *times == 1 && test.lasts > 40*24*time.Hour {
			continue // it takes a second: no timer lasts for more than half a minute
		}
		t.Run(test.text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(test.start))
				l := &Limiter{Quotas: quotas(t, test.text), Spend: SpendEager}
				for range 3 {
					if err := l.Wait(t.Context(), 1); err != nil || !time.Now().Equal(test.start) {
						t.Fatalf("%v after %v", err, time.Since(test.start))
					}
				}
				wait := time.Until(test.next)
				f, s := l.Forecast(Claim{}), l.State()
				if f.Wait != wait || s.Limits[0].Reset != wait || s.Limits[0].Limit != 3 || s.Limits[0].Available != 0 {
					t.Errorf("%+v and %+v, want a wait of %v", f, s.Limits, wait)
				}
				_, err := l.Acquire(t.Context(), Claim{MaxWait: wait - 1})
				var e *Error
				if !errors.As(err, &e) || !errors.Is(err, ErrMaxWait) || e.Wait != wait || !e.At.Equal(test.next) || e.Quota != test.text {
					t.Errorf("got %#v, want an error until %v", err, test.next)
				}
				other := &Limiter{Parent: l, MaxStandstill: wait - 1}
				if err := other.Wait(t.Context(), 1); !errors.As(err, &e) || !errors.Is(err, ErrStandstill) || e.Wait != wait || !e.At.Equal(test.next) {
					t.Errorf("got %#v, want ErrStandstill until %v", err, test.next)
				}
				for range 3 {
					if err := l.Wait(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
				}
				if f := l.Forecast(Claim{}); !time.Now().Equal(test.next) || f.Wait != test.lasts {
					t.Errorf("the next window begins at %v and lasts for %v, want %v and %v", time.Now().In(zone), f.Wait, test.next, test.lasts)
				}
				if test.lasts > 30*24*time.Hour && *times == 1 {
					return // to wait for a year takes seconds, since the clock is looked at every minute
				}
				if err := l.Wait(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				if end := test.next.Add(test.lasts); !time.Now().Equal(end) {
					t.Errorf("the 7th went at %v, want %v", time.Now().In(zone), end.In(zone))
				}
			})
		})
	}
}

// Of a plain quota of months, the last fifth is spread until the month ends, no two further apart than
// MaxStandstill; and while the server's count of the same number is believed, nothing is delayed.
func TestPlainMonth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/month"), MaxStandstill: 30 * 24 * time.Hour}
		start := time.Now() // 1 January 2000
		end := time.Date(2000, 2, 1, 0, 0, 0, 0, time.UTC)
		want := []time.Duration{0, 0, 0, 0, 0, 0, 0, 0, 0, end.Sub(start) / 2, end.Sub(start)}
		for i, want := range want {
			if err := l.Wait(t.Context(), 1); err != nil || time.Since(start) != want {
				t.Errorf("number %d: %v after %v, want %v", i, err, time.Since(start), want)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/month"), MaxStandstill: 2 * time.Minute}
		for i := range 30 {
			g, err := l.Acquire(t.Context(), Claim{})
			if err != nil || !time.Now().Equal(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) {
				t.Fatalf("number %d: %v at %v", i, err, time.Now())
			}
			g.Answered(Answer{Statements: []quota.Statement{{Limit: 10, Remaining: 5, Reset: 20 * 24 * time.Hour, ResetKnown: true}}})
		}
	})
}

// Windows of the calendar are not shared: that is said where quotas are checked, and before anything goes.
func TestCalendarInAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := `throttle: quota "5/month" begins on days of the calendar, which is not shared: want a Per by UTC such as d window grid, 7d or 30d for what lives in a Store`
		for _, text := range []string{"5/month", "5/d window grid in Asia/Tokyo", "5/w window grid"} {
			shared := nearStore()
			l := member(t, shared, "5/d window grid")
			if err := l.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(want, "5/month", text, 1)
			if err := l.SetQuotas(quotas(t, text)); err == nil || err.Error() != want {
				t.Errorf("SetQuotas: got %v, want %v", err, want)
			}
			l.Close()
			l = member(t, shared, text)
			if err := l.Validate(); err == nil || err.Error() != want {
				t.Errorf("Validate: got %v, want %v", err, want)
			}
			if err := l.Wait(t.Context(), 1); err == nil || err.Error() != want {
				t.Errorf("Wait: got %v, want %v", err, want)
			}
			l.Close()
		}
	})
}
