package throttle

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// charge is what went at an instant, in any unit of time.
type charge struct{ at, n int }

// history is a quota by its definition: all that went, looked through anew for
// each question. wall is the wall clock at 0.
type history struct {
	q    Quota
	unit time.Duration
	wall int
	went []charge
}

func (h *history) per() int { return int(h.q.Per / h.unit) }

// group is what leaves together.
type group struct{ first, last, n int }

// groups returns what counts together by the definition: the windows of a
// FixedWindow, the cells of a SlidingWindow.
func (h *history) groups() (gs []group) {
	for _, c := range h.went {
		i := len(gs) - 1
		if i < 0 || !h.joins(c.at, gs[i].first) {
			gs = append(gs, group{first: c.at})
			i++
		}
		gs[i].last = c.at
		gs[i].n += c.n
	}
	return gs
}

func (h *history) joins(at, first int) bool {
	switch h.q.Kind {
	case FixedWindow:
		return at < first+h.per()
	case SlidingWindow:
		return (at-first)*h.q.cells() <= h.per()
	}
	return at == first
}

// used returns what counts of what went, at now.
func (h *history) used(now int) (used int) {
	per := h.per()
	tick := func(t int) int { return (h.wall + t) / per }
	switch h.q.Kind {
	case FixedWindow, SlidingWindow, SlidingLog:
		for _, g := range h.groups() {
			from := g.last
			if h.q.Kind == FixedWindow {
				from = g.first
			}
			if now < from+per {
				used += g.n
			}
		}
	case ClockWindow:
		for _, c := range h.went {
			if tick(c.at) == tick(now) {
				used += c.n
			}
		}
	case EstimatedWindow:
		previous := 0
		for _, c := range h.went {
			switch tick(now) - tick(c.at) {
			case 0:
				used += c.n
			case 1:
				previous += c.n
			}
		}
		left := per - (h.wall+now)%per
		used += (2*previous*left + per) / (2 * per) // rounded
	}
	return used
}

// without returns the history as if c had never gone, and whether that leaves
// the others counted together as they were. Of the charge that started a window, or
// that was the newest of a cell, it does not.
func (h *history) without(c charge) (went []charge, alike bool) {
	gs := h.groups()
	for i := range gs {
		if gs[i].first <= c.at && c.at <= gs[i].last {
			gs[i].n -= c.n
		}
	}
	gs = slices.DeleteFunc(gs, func(g group) bool { return g.n == 0 })
	i := slices.Index(h.went, c)
	rest := history{h.q, h.unit, h.wall, slices.Delete(slices.Clone(h.went), i, i+1)}
	return rest.went, slices.Equal(gs, rest.groups())
}

// windowed are quotas of all kinds but buckets.
func windowed(r *rand.Rand) []Quota {
	n := func() int { return 3 + r.IntN(20) }
	const ms = time.Millisecond
	return []Quota{
		{Kind: FixedWindow, N: n(), Per: time.Duration(10+r.IntN(60)) * ms},
		{Kind: ClockWindow, N: n(), Per: time.Duration(10+r.IntN(60)) * ms},
		{Kind: SlidingWindow, N: n(), Per: time.Duration(10*(1+r.IntN(6))) * ms},
		{Kind: SlidingWindow, N: n(), Per: time.Duration(4*(5+r.IntN(12))) * ms, Cells: 4},
		{Kind: SlidingLog, N: n(), Per: time.Duration(10+r.IntN(60)) * ms},
		{Kind: EstimatedWindow, N: n(), Per: time.Duration(10+r.IntN(60)) * ms},
	}
}

// TestKindsAgainstHistory runs random claims through a Limiter: of any weight,
// canceled in line and after the grant, through pauses and idling. Everybody goes in
// exactly the same millisecond in which the definition of the quotas first has
// room, one kind alone and two together. (Not of an EstimatedWindow, which has room
// between milliseconds.)
func TestKindsAgainstHistory(t *testing.T) {
	needs64(t)
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, q := range windowed(r)[:5] {
			t.Run(fmt.Sprint(q, " ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { againstHistory(t, r, Quotas{q}) })
			})
			other := windowed(r)[r.IntN(5)]
			t.Run(fmt.Sprint(q, " and ", other, " ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { againstHistory(t, r, Quotas{q, other}) })
			})
		}
	}
}

func againstHistory(t *testing.T, r *rand.Rand, qs Quotas) {
	t.Helper()
	time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond) // anywhere on the grid
	start := time.Now()
	model := make([]*history, len(qs))
	heaviest := math.MaxInt
	for i, q := range qs {
		model[i] = &history{q: q, unit: time.Millisecond, wall: int(start.UnixMilli())}
		heaviest = min(heaviest, q.N)
	}
	l := &Limiter{Quotas: qs}

	type claim struct {
		n, went int // went is negative while it waits
		waiter  *Waiter
		grant   Grant
	}
	var line, granted []*claim
	held, went, gave := 0, 0, 0
	serve := func(now int) { // lets those go who may by definition
		for len(line) > 0 && now >= held {
			c := line[0]
			for _, h := range model {
				if h.used(now)+c.n > h.q.N {
					return
				}
			}
			for _, h := range model {
				h.went = append(h.went, charge{now, c.n})
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
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
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
			case <-c.waiter.ready:
				c.grant = c.waiter.grant
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
					case <-c.waiter.ready:
						c.grant = c.waiter.grant
					default:
					}
					check(c, c.grant.l != nil, now)
				}
			case k < 16 && len(granted) > 0:
				i := len(granted) - 1 - r.IntN(min(len(granted), 8))
				c := granted[i]
				alike := true
				for _, h := range model {
					_, ok := h.without(charge{c.went, c.n})
					alike = alike && ok
				}
				if !alike {
					continue
				}
				for _, h := range model {
					h.went, _ = h.without(charge{c.went, c.n})
				}
				granted = slices.Delete(granted, i, i+1)
				gave++
				waiting := slices.Clone(line)
				c.grant.Cancel()
				serve(now)
				for _, c := range waiting {
					select {
					case <-c.waiter.ready:
						c.grant = c.waiter.grant
					default:
					}
					check(c, c.grant.l != nil, now)
				}
			case k == 19:
				d := r.IntN(20)
				l.Pause(time.Duration(d) * time.Millisecond)
				held = max(held, now+d)
			}
		}
	}
	if went < 10 || gave == 0 {
		t.Errorf("only %d went, and %d were given back", went, gave)
	}
	for _, c := range line {
		c.waiter.Wait(canceled)
	}
}

// TestKindsWhenIsExact asks limits of all kinds at random instants, and charges and
// gives back: when is the first nanosecond at which the definition has room.
func TestKindsWhenIsExact(t *testing.T) {
	needs64(t)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		for _, q := range windowed(r) {
			q.Per += time.Duration(r.IntN(1000)) / time.Duration(q.cells()) * time.Duration(q.cells())
			h := &history{q: q, unit: 1, wall: r.IntN(1e9)}
			whenIsExact(t, r, newWindow(q, int64(h.wall)), h)
		}
	}
}

func whenIsExact(t *testing.T, r *rand.Rand, l limit, h *history) {
	t.Helper()
	now, per := 0, h.per()
	for range 200 {
		if r.IntN(3) == 0 {
			now += r.IntN(1 + per>>r.IntN(8))
		}
		n := 1 + r.IntN(1+h.q.N>>r.IntN(3))
		at, ok := l.when(instant(now), 0, n)
		if ok != (n <= h.q.N) {
			t.Fatalf("%v: of %d, when says %v", h.q, n, ok)
		}
		if !ok {
			continue
		}
		room := func(at int) bool { return h.used(at)+n <= h.q.N }
		if !room(int(at)) || int(at) > now && room(int(at)-1) || int(at) < now {
			t.Fatalf("%v: at %d, %d may go at %d; by definition: %v, a moment before: %v\n%v",
				h.q, now, n, at, room(int(at)), room(int(at)-1), h.went)
		}
		switch r.IntN(4) {
		case 0:
		case 1:
			if len(h.went) > 0 {
				i := len(h.went) - 1 - r.IntN(min(len(h.went), 4))
				c := h.went[i]
				if went, alike := h.without(c); alike {
					l.give(instant(now), instant(c.at), c.n)
					h.went = went
				}
			}
		default:
			now = int(at)
			l.take(at, at, n)
			h.went = append(h.went, charge{now, n})
			if len(h.went) > 60 { // more than Per ago
				h.forget(now)
			}
		}
		if idle := l.idle(instant(now)); idle && h.used(now) > 0 {
			t.Fatalf("%v: idle, and %d are used", h.q, h.used(now))
		}
	}
	until := now + 4*per
	for l.take(instant(now), instant(now), 1); !l.idle(instant(now)); now += per / 4 {
		if now > until {
			t.Fatalf("%v: never idle", h.q)
		}
	}
}

// forget drops what no longer counts, so that looking through it stays quick.
func (h *history) forget(now int) {
	gs := h.groups()
	i := 0
	for i < len(gs)-1 && gs[i].last+2*h.per() <= now {
		i++
	}
	h.went = slices.DeleteFunc(h.went, func(c charge) bool { return c.at < gs[i].first })
}

// needs64 skips tests whose model reckons in int.
func needs64(t *testing.T) {
	t.Helper()
	if strconv.IntSize < 64 {
		t.Skip("nanoseconds need 64 bits")
	}
}

func TestKindValidate(t *testing.T) {
	over := int64(most) + 1
	for want, q := range map[string]Quota{
		`quota "1 kind 8": Kind is 8, want one of the constants`:                   {N: 1, Kind: Unanswered + 1},
		`Kind is -1, want one of the constants`:                                    {N: 1, Kind: -1},
		`quota "5/s log": Burst is 1, want 0 for what is no token bucket`:          {N: 5, Kind: SlidingLog, Burst: 1},
		`WarmUp is 1s, want 0 for what is no token bucket`:                         {N: 5, Kind: FixedWindow, WarmUp: time.Second},
		`ColdFactor is 3, want 0 without a WarmUp`:                                 {N: 5, Kind: FixedWindow, ColdFactor: 3},
		`Cells is -1, want at least 0 (0 is 10)`:                                   {N: 5, Kind: SlidingWindow, Cells: -1},
		`Cells is 5, want 0 for what is no SlidingWindow`:                          {N: 5, Kind: SlidingLog, Cells: 5},
		`N is 0, want a positive number for what is no token bucket`:               {Kind: ClockWindow},
		`quota "5 in flight": Per is 1s, want 0 for what is in flight`:             {N: 5, Kind: InFlight, Per: time.Second},
		`quota "5 unanswered": Per is 1ns, want 0 for what is in flight`:           {N: 5, Kind: Unanswered, Per: 1},
		`quota "5 burst 9 in flight": Burst is 9, want 0 for what is no`:           {N: 5, Kind: InFlight, Burst: 9},
		`Debt is true, want false for what is no token bucket`:                     {N: 5, Kind: Unanswered, Debt: true},
		`quota "5/500000h window grid": Per is 500000h0m0s, want at most 50 years`: {N: 5, Kind: ClockWindow, Per: 500_000 * time.Hour},
		fmt.Sprintf(`quota "%d/s estimate": N is %[1]d, want at most 1<<50`, over): {N: int(over), Kind: EstimatedWindow},
	} {
		if strconv.IntSize < 64 && strings.Contains(want, "1<<50") {
			continue
		}
		if err := q.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%#v: got %v, want %q in it", q, err, want)
		}
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
