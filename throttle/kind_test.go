package throttle

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
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
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, q := range definition.Windowed(r)[:7] {
			t.Run(fmt.Sprint(q, " ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { againstHistory(t, r, quota.Quotas{q}) })
			})
			other := definition.Windowed(r)[r.IntN(7)]
			t.Run(fmt.Sprint(q, " and ", other, " ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { againstHistory(t, r, quota.Quotas{q, other}) })
			})
		}
	}
}

func againstHistory(t *testing.T, r *rand.Rand, qs quota.Quotas) {
	t.Helper()
	time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond) // anywhere on the grid
	start := time.Now()
	model := make([]*definition.History, len(qs))
	heaviest := math.MaxInt
	for i, q := range qs {
		model[i] = &definition.History{Quota: q, Unit: time.Millisecond, Wall: int(start.UnixMilli())}
		heaviest = min(heaviest, q.N)
	}
	l := &Limiter{Quotas: qs}

	type claim struct {
		n, went int // went is negative while it waits
		waiter  *Waiter
		grant   *Grant
	}
	var line, granted []*claim
	held, went, gave := 0, 0, 0
	serve := func(now int) { // lets those go who may by definition
		for len(line) > 0 && now >= held {
			c := line[0]
			for _, h := range model {
				if h.Used(now)+c.n > h.Quota.N {
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
			case <-c.waiter.done:
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
					case <-c.waiter.done:
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
					case <-c.waiter.done:
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
	if went < 10 || gave == 0 {
		t.Errorf("only %d went, and %d were given back", went, gave)
	}
	for _, c := range line {
		c.waiter.Wait(canceled)
	}
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
