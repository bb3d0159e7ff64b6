package throttle

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// pairOf returns two buckets of one tree.
func pairOf() (a, b *Limiter) {
	root := &Limiter{Name: "root"}
	return &Limiter{Name: "a", Parent: root}, &Limiter{Name: "b", Parent: root}
}

// hear has a request of l answered with a statement, and returns what may go after it.
func hear(t *testing.T, l *Limiter, remaining int, reset time.Duration) int {
	t.Helper()
	g, err := l.Acquire(context.Background(), Claim{})
	if err != nil {
		t.Fatal(err)
	}
	g.Answered(Answer{Statements: []quota.Statement{{
		Name: "n", Limit: 100, Remaining: int64(remaining), Reset: reset, ResetKnown: true, Resolution: time.Second,
	}}})
	return int(l.State().Limits[0].Available)
}

// TestSharersCountForEachOther has two buckets hear of one window: what one has in flight, and what it
// hears, counts for the other.
func TestSharersCountForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pairOf()
		hear(t, a, 50, time.Minute)
		hear(t, b, 49, time.Minute)
		if got := hear(t, a, 48, time.Minute); got != 48 {
			t.Errorf("a has %d, want 48", got)
		}
		for range 8 {
			if _, err := b.Acquire(t.Context(), Claim{}); err != nil {
				t.Fatal(err)
			}
		}
		if got := a.State().Limits[0].Available; got != 40 {
			t.Errorf("with 8 of b in flight, a has %d, want 40", got)
		}
		hear(t, a, 0, time.Minute) // others used it up
		if wait := b.Forecast(Claim{}).Wait; wait < 59*time.Second {
			t.Errorf("b waits %v for what a heard to be used up, want a minute", wait)
		}
		if got := a.State().Limits[0]; got != b.State().Limits[0] {
			t.Errorf("a knows %v, and b %v", got, b.State().Limits[0])
		}
	})
}

// TestSharersWakeEachOther has one who waits in a bucket go on what another hears.
func TestSharersWakeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pairOf()
		start := time.Now()
		hear(t, a, 3, time.Minute)
		hear(t, b, 2, time.Minute)
		g1, _ := a.Acquire(t.Context(), Claim{})
		g2, _ := a.Acquire(t.Context(), Claim{})
		done := make(chan time.Duration)
		go func() {
			if err := b.Wait(t.Context(), 1); err != nil {
				t.Error(err)
			}
			done <- time.Since(start)
		}()
		time.Sleep(time.Second)
		g1.Cancel() // what it did not use is b's
		if got := <-done; got != time.Second {
			t.Errorf("b went after %v, want 1s", got)
		}
		g2.Cancel()
	})
}

// TestSharersApart has two buckets hear of windows that happen to have one name, size and
// reset: each goes on with its own.
func TestSharersApart(t *testing.T) {
	for _, test := range []struct {
		name     string
		said     [][2]int // to a and b, in turns
		left     [2]int
		together bool
	}{
		{"the same from the first", [][2]int{{50, 50}, {49, 49}}, [2]int{49, 49}, false},
		{"the same later", [][2]int{{50, 40}, {49, 39}, {48, 38}}, [2]int{48, 38}, false},
		{"in turns", [][2]int{{50, 49}, {48, 47}, {46, 45}}, [2]int{45, 45}, true},
		{"one was free", [][2]int{{50, 49}, {48, 47}, {47, 46}, {45, 44}}, [2]int{44, 44}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := pairOf()
				for _, said := range test.said {
					hear(t, a, said[0], time.Minute)
					hear(t, b, said[1], time.Minute)
				}
				got := [2]int{int(a.State().Limits[0].Available), int(b.State().Limits[0].Available)}
				if got != test.left {
					t.Errorf("a and b have %v, want %v", got, test.left)
				}
				if got := len(a.server.Sharing(nil)) == 1; got != test.together {
					t.Errorf("taken for one: %v, want %v", got, test.together)
				}
			})
		})
	}
}

// TestSharersRelease has a bucket forgotten: nothing keeps it.
func TestSharersRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pairOf()
		hear(t, a, 50, time.Minute)
		hear(t, b, 49, time.Minute)
		if got := a.server.Sharing(nil); !slices.Equal(slices.Collect(a.account.sharers.Of(&a.server)), []*Limiter{b}) {
			t.Errorf("a shares with %v, want b", got)
		}
		b.Release()
		if got := a.server.Sharing(nil); len(got) != 0 || len(slices.Collect(a.account.sharers.Of(&a.server))) != 0 || b.server.Overlaps() || len(b.State().Limits) != 0 {
			t.Errorf("a shares with %v, want none of b", got)
		}
		if got := hear(t, a, 48, time.Minute); got != 48 {
			t.Errorf("a has %d, want 48", got)
		}
	})
}

// TestThawRunsAll has one line up in a bucket while the tree is frozen: it goes when it is
// due, whichever bucket thaws the tree.
func TestThawRunsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pairOf()
		b.Quotas = quota.Quotas{{N: 1, Kind: quota.TokenBucket}}
		if err := b.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		thaw := a.Freeze()
		done := make(chan time.Duration)
		go func() {
			if err := b.Wait(t.Context(), 1); err != nil {
				t.Error(err)
			}
			done <- time.Since(start)
		}()
		synctest.Wait()
		thaw()
		if got := <-done; got != time.Second {
			t.Errorf("went after %v, want 1s", got)
		}
	})
}

// TestSharersAreQuietWhileTheyWait: buckets that share a limit look at their lines when something was learned,
// and not because one of them looks at its own.
func TestSharersAreQuietWhileTheyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pairOf()
		hear(t, a, 50, time.Minute)
		hear(t, b, 49, time.Minute)
		g := grant(t, a, Claim{})
		for range 1000 { // a look at so many is postponed
			for _, l := range []*Limiter{a, b} {
				if _, _, err := l.Join(t.Context(), Claim{N: 50}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 3 {
			g.Answered(Answer{Statements: []quota.Statement{{Limit: 50, Remaining: 40, Reset: time.Minute, ResetKnown: true}}})
			time.Sleep(10 * time.Second)
			synctest.Wait()
			for name, l := range map[string]*Limiter{"a": a, "b": b} {
				set := l.line.nextCheck.IsSet(l.clock.Awake(l.now()))
				if l.line.waiting < 1000 || l.line.later || set {
					t.Fatalf("%s: %d wait, will be looked at: %v, at a time: %v", name, l.line.waiting, l.line.later, set)
				}
			}
			g, _ = a.Observe(Claim{})
		}
	})
}

// TestStatementsOfChildrenDoNotCountForTheQuotaOfAllOfThem: each child hears of a limit of its own that has the
// numbers of the Parent's quota. One count for all may be believed.
func TestStatementsOfChildrenDoNotCountForTheQuotaOfAllOfThem(t *testing.T) {
	for _, together := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := &Limiter{Name: "host", Quotas: quotas(t, "60/m"), Rand: noJitter}
			var children []*Limiter
			for range 5 {
				children = append(children, &Limiter{Parent: p, Rand: noJitter})
			}
			sent, start := 0, time.Now()
			ask := func(n int) {
				for k := range n {
					for i, l := range children {
						ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
						g, err := l.Acquire(ctx, Claim{})
						cancel()
						if err != nil {
							continue
						}
						sent++
						st := quota.Statement{Name: fmt.Sprint("user ", i), Limit: 60, Remaining: int64(59 - k), Reset: time.Minute - time.Since(start), ResetKnown: true}
						if together {
							st.Name, st.Remaining, st.Reset = "", int64(60-sent), 30*time.Second-time.Since(start)
							if st.Reset <= 0 {
								st.Remaining, st.Reset = int64(120-sent), time.Minute+st.Reset
							}
						}
						g.Answered(Answer{Statements: []quota.Statement{st}})
					}
				}
			}
			ask(60)
			time.Sleep(31*time.Second - time.Since(start)) // the server's grid begins anew after 30 s, and a log after 60
			ask(60)
			if want := map[bool]int{false: 60, true: 120}[together]; sent != want {
				t.Errorf("one limit for all: %v: %d went in 31 s, want %d", together, sent, want)
			}
		})
	}
}

// TestCancelLeavesNoGap: where the rest of a limit is spread, a grant that was canceled does not put off the
// next one.
func TestCancelLeavesNoGap(t *testing.T) {
	for _, learned := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Quotas: quotas(t, "60/h"), MaxStandstill: 2 * time.Minute, Rand: noJitter}
			if learned {
				l.Quotas = nil
			}
			for i := range 49 {
				g := grant(t, l, Claim{})
				if learned {
					g.Answered(Answer{Statements: []quota.Statement{{Limit: 60, Remaining: int64(59 - i), Reset: time.Hour, ResetKnown: true}}})
				}
			}
			time.Sleep(10 * time.Minute)
			before := l.Forecast(Claim{}).Wait
			for range 3 {
				first := grant(t, l, Claim{})
				if after := l.Forecast(Claim{}).Wait; after <= before {
					t.Errorf("learned %v: the next waits %v, with nothing more to spread than %v", learned, after, before)
				}
				time.Sleep(time.Second)
				second, _ := l.Observe(Claim{})
				second.Cancel()
				first.Cancel()
				if after := l.Forecast(Claim{}).Wait; after != before {
					t.Errorf("learned %v: after grants that were canceled, the next waits %v, and before %v", learned, after, before)
				}
			}
		})
	}
}

// TestLooksOfAWindowThatWaitersShare: after a row of many, looks for a silent window come closer together where
// another one waits to look in turns, and not where nobody does.
func TestLooksOfAWindowThatWaitersShare(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for others, want := range [][]time.Duration{
		{200 * ms, 700 * ms, s, s, 2 * s, 3 * s, 2 * s, 5 * s},
		{200 * ms, 700 * ms, s, s, s, s, 2 * s, 2 * s, s, 5 * s}, // the other one has gone at the last
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{SlowStart: true, Rand: noJitter}
			for range 96 {
				grant(t, l, Claim{}).Answered(Answer{})
			}
			var grants []*Grant
			for range others + 1 {
				grants = append(grants, grant(t, l, Claim{}))
			}
			var mu sync.Mutex // protects held
			var held []time.Duration
			var wait sync.WaitGroup
			for _, g := range grants {
				g.Answered(Answer{Refused: true})
				wait.Go(func() {
					for range len(want) / len(grants) {
						var err error
						if g, err = l.Acquire(t.Context(), Claim{After: g}); err != nil {
							t.Error(err)
							return
						}
						o := g.Answered(Answer{Refused: true})
						mu.Lock()
						held = append(held, o.Held)
						mu.Unlock()
					}
				})
			}
			wait.Wait()
			if !slices.Equal(held, want) {
				t.Errorf("beside %d others: holds of %v, want %v", others, held, want)
			}
		})
	}
}

// Others used as much as we did in the window before, and so may have as much in flight,
// and send more before they hear of it.
func TestWindowIsSharedAsBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		for _, remaining := range []int{9, 7, 5, 3, 0} {
			a.get().Answered(says(remaining, time.Minute))
		}
		a.get().Answered(says(9, time.Minute))
		a.wantOpen(1) // each may cost 5 of 9
		for remaining := range 9 {
			a.get().Answered(says(8-remaining, time.Minute))
		}
		a.get().Answered(says(9, time.Minute))
		a.wantOpen(3) // nobody else was there: half of what was thought
		for remaining := range 9 {
			a.get().Answered(says(8-remaining, time.Minute))
		}
		a.get().Answered(says(9, time.Minute))
		a.wantOpen(4)
	})
}

// What is in flight in a bucket is missing for those below it that share a limit. When it ends, a claim that
// waits below goes, however deep the tree is.
func TestWindowIsSharedWithABucketBelow(t *testing.T) {
	for _, deep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			above := &Limiter{Rand: noJitter}
			if deep {
				above.Parent = new(Limiter)
			}
			below := &Limiter{Rand: noJitter, Parent: above}
			g, h := grant(t, above, Claim{}), grant(t, below, Claim{})
			g.Answered(says(2, time.Hour))
			h.Answered(says(1, time.Hour))
			g = grant(t, above, Claim{})
			_, w := join(t, below, Claim{})
			if gone(w) {
				t.Errorf("deep %v: went, want it to wait for what is in flight", deep)
			}
			if g.Cancel(); !gone(w) {
				t.Errorf("deep %v: still waits for %+v", deep, below.State().Next)
				w.Leave()
			}
		})
	}
}

// A claim waits for what is in flight in another bucket, which is taken to share a limit. If the answer shows
// that it does not, the claim goes.
func TestWindowIsSharedNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := new(Limiter)
		a, b := &Limiter{Rand: noJitter, Parent: root}, &Limiter{Rand: noJitter, Parent: root}
		g, h := grant(t, a, Claim{}), grant(t, b, Claim{})
		g.Answered(says(2, time.Hour))
		h.Answered(says(1, time.Hour))
		g = grant(t, a, Claim{})
		_, w := join(t, b, Claim{})
		if gone(w) {
			t.Error("went, want it to wait for what is in flight")
		}
		if g.Answered(says(9, time.Hour)); !gone(w) {
			t.Errorf("still waits for %+v", b.State().Next)
			w.Leave()
		}
	})
}

// Two buckets are taken to share a limit, and do not. What one hears that shows it is nothing that the other
// may use.
func TestWindowOfAnotherIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := new(Limiter)
		a, b := asker{t, &Limiter{Rand: noJitter, Parent: root}}, asker{t, &Limiter{Rand: noJitter, Parent: root}}
		g, h := a.get(), b.get()
		g.Answered(says(2, time.Hour))
		h.Answered(says(1, time.Hour))
		a.get().Answered(says(9, time.Hour))
		a.wantOpen(9)
		b.wantOpen(1)
		b.get().Answered(says(5, time.Hour)) // its limit is back
		b.wantOpen(5)
	})
}
