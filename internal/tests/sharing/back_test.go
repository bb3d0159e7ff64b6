package sharing

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// average is how much was sent until an instant of the last Per, on average: whenever windows end.
func average(text string, sends []sent, end time.Duration) float64 {
	per, sum := quota.MustParse(text).Explicit()[0].Per, 0.0
	for _, s := range sends {
		if s.at < end {
			sum += float64(s.n) * min(end-s.at, per).Seconds()
		}
	}
	return sum / per.Seconds()
}

// TestALostWindowCostsNothing: all processes that had a window which the store has lost say what they sent. So
// from two seconds after the loss on as much goes as if nothing had been lost, but for a hundredth. It is the
// same if the store was away before that.
func TestALostWindowCostsNothing(t *testing.T) {
	for _, text := range []string{"60/2s log", "60/2s sliding", "60/2s window", "60/2s window grid", "60/2s estimate"} {
		for _, away := range []time.Duration{0, 2 * time.Second} {
			if away > 0 && text == "60/2s estimate" {
				continue // after a pause its second window lets go evenly what the first lets go at once: what goes later depends on when the pause ends
			}
			for begin := 6 * time.Second; begin < 8*time.Second; begin += 190 * time.Millisecond {
				name := fmt.Sprint(text, " away ", away, " from ", begin)
				if !whole.Part(6, name) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					lost, kept := lossOf(t, text, begin, away, true), lossOf(t, text, begin, away, false)
					if n := over(text, lost.sends); n > 0 {
						t.Errorf("%d over", n)
					}
					fault := begin + away
					went := func(f *fleet) float64 {
						return average(text, f.sends, fault+10*time.Second) - average(text, f.sends, fault+2*time.Second)
					}
					if got, want := went(lost), went(kept); got < want-2.4 { // of 240
						t.Errorf("%.1f went, %.1f where nothing was lost", got, want)
					}
				})
			}
		}
	}
}

// lossOf is what five processes send if the store is away from an instant on, and loses what it knew, if it
// does.
func lossOf(t *testing.T, text string, begin, lasts time.Duration, loses bool) (f *fleet) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := new(store.Memory)
		f = &fleet{start: time.Now(), end: begin + lasts + 10*time.Second}
		a := &away{Memory: s, down: func() bool { d := time.Since(f.start); return d >= begin && d < begin+lasts }}
		if loses {
			time.AfterFunc(begin+lasts, s.Lose)
		}
		f.run(t, text, throttle.OutageClosed, []int{1, 1, 1}, slices.Repeat([]store.Store{a}, 5)...)
		f.wait.Wait()
	})
	return f
}

// TestAWindowIsBackAfterASlowStore: what went while slots might be used late, leaves a window as soon as it is
// certain that nothing goes late any more. So from two seconds after the store was near again on, as much goes
// as if it had always been, but for a fiftieth.
func TestAWindowIsBackAfterASlowStore(t *testing.T) {
	for _, text := range []string{"60/2s log", "60/2s sliding", "60/2s window"} {
		for _, slow := range []time.Duration{30 * time.Millisecond, 70 * time.Millisecond} { // each way
			for begin := 6 * time.Second; begin < 8*time.Second; begin += 190 * time.Millisecond {
				name := fmt.Sprint(text, " ", slow, " from ", begin)
				if !whole.Part(6, name) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						end := begin + 2*time.Second
						f := &fleet{start: time.Now(), end: end + 10*time.Second}
						s := &away{Memory: new(store.Memory), delay: func() time.Duration {
							if d := time.Since(f.start); d >= begin && d < end {
								return slow
							}
							return 0
						}}
						f.run(t, text, throttle.OutageClosed, []int{1, 1, 1}, slices.Repeat([]store.Store{s}, 5)...)
						f.wait.Wait()
						if n := over(text, f.sends); n > 0 {
							t.Errorf("%d over", n)
						}
						if went := average(text, f.sends, end+10*time.Second) - average(text, f.sends, end+2*time.Second); went < 236 {
							t.Errorf("%.1f went from two seconds after on, want 236 of 240", went)
						}
					})
				})
			}
		}
	}
}

// TestAWindowIsBackAfterTheLastSlowReply: while a call is under way that takes long, its process may use slots
// late. So where replies take 100 to 700 ms, a window is back two seconds after the last of them, which comes
// up to 0.7 s after the store is near again.
func TestAWindowIsBackAfterTheLastSlowReply(t *testing.T) {
	for _, text := range []string{"60/2s log", "60/2s sliding", "60/2s window"} {
		for begin := 6 * time.Second; begin < 8*time.Second; begin += 190 * time.Millisecond {
			name := fmt.Sprint(text, " from ", begin)
			if !whole.Part(6, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					end := begin + 10*time.Second
					f := &fleet{start: time.Now(), end: end + 15*time.Second}
					var last time.Duration
					s := &away{Memory: new(store.Memory), delay: func() time.Duration {
						d := time.Since(f.start)
						if d < begin || d >= end {
							return 0
						}
						each := 50*time.Millisecond + d*7919%(300*time.Millisecond)
						f.mu.Lock()
						defer f.mu.Unlock()
						last = max(last, d+2*each)
						return each
					}}
					f.run(t, text, throttle.OutageClosed, []int{1, 1, 1}, slices.Repeat([]store.Store{s}, 5)...)
					f.wait.Wait()
					if n := over(text, f.sends); n > 0 {
						t.Errorf("%d over", n)
					}
					if went := average(text, f.sends, last+10*time.Second) - average(text, f.sends, last+2*time.Second); went < 236 {
						t.Errorf("the last slow reply came %v after: %.1f went from two seconds after that on, want 236 of 240", last-end, went)
					}
				})
			})
		}
	}
}

// TestWhoIsNotCounted: a lost window is assumed to be used until nobody is left who may have sent, and has not
// told: also if it is lost twice, and who came in between knows of nobody else, since those that had it could
// not reach the store.
func TestWhoIsNotCounted(t *testing.T) {
	for _, text := range []string{"60/30s log", "60/30s sliding", "60/30s window"} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := new(store.Memory)
				f := &fleet{start: time.Now()}
				cut := &away{Memory: s, down: func() bool { d := time.Since(f.start); return d > 4900*time.Millisecond && d < 7*time.Second }}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				member := func(s store.Store, isNew bool) *throttle.Limiter {
					l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(text), Shared: throttle.Shared{Store: s, Outage: throttle.OutageClosed, Fresh: isNew}, MaxStandstill: throttle.Forever}
					t.Cleanup(func() { _ = l.Close() })
					return l
				}
				many := func(l *throttle.Limiter, by, n int) {
					for range n {
						f.wait.Go(func() { _ = f.send(ctx, l, by, 1) })
					}
				}
				many(member(cut, true), 0, 58)
				time.Sleep(5 * time.Second)
				s.Lose()
				many(member(s, false), 1, 60)
				time.Sleep(100 * time.Millisecond)
				s.Lose()
				f.wait.Wait()
				if n := over(text, f.sends); n > 0 {
					t.Errorf("%d over", n)
				}
			})
		})
	}
}
