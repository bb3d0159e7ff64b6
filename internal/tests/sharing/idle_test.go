package sharing

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// These tests are of processes that ask a store seldom, and of what they send when all have lost it, in virtual
// time.

// losable is a fleet of processes, each with OutageShare, and their store, which all lose at one instant.
type losable struct {
	fleet
	t     *testing.T
	text  string
	store *away
	lost  atomic.Bool
	all   []*throttle.Limiter
}

func newLosable(t *testing.T, text string) *losable {
	t.Helper()
	f := &losable{t: t, text: text, fleet: fleet{start: time.Now()}}
	f.store = &away{Memory: new(store.Memory), down: f.lost.Load}
	return f
}

// join adds processes.
func (f *losable) join(n int) {
	for range n {
		l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(f.text), Shared: throttle.Shared{Store: f.store, Outage: throttle.OutageShare}, MaxStandstill: throttle.Forever}
		f.t.Cleanup(func() { _ = l.Close() })
		f.all = append(f.all, l)
	}
}

// once has a process send once.
func (f *losable) once(by int) {
	f.t.Helper()
	if err := f.send(f.t.Context(), f.all[by], by, 1); err != nil {
		f.t.Fatal(err)
	}
}

// busy has processes send all the time, for d.
func (f *losable) busy(d time.Duration, from, to int) {
	ctx, cancel := context.WithCancel(f.t.Context())
	time.AfterFunc(d, cancel)
	for by := from; by < to; by++ {
		f.work(ctx, f.all[by], by, []int{1, 1, 1})
	}
}

// lose has all processes lose the store, and be busy from then on: one soon after the other, since a Burst of 1
// cannot be divided. It checks that so much of the quota goes, at most.
func (f *losable) lose(most float64) {
	f.t.Helper()
	f.lost.Store(true)
	for by := range f.all {
		f.busy(15*time.Second, by, by+1)
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Minute)
	f.wait.Wait()
	bound := f.text
	if most > 1 {
		bound = scaled(f.text, most)
	}
	if n := over(bound, f.sends); n > 0 {
		f.t.Errorf("%d more than %s", n, bound)
	}
}

var lost = []string{"100/s even", "100/s burst 100", "60/2s log", "60/2s window", "60/2s sliding", "100/10s log"}

// TestWhoIdledKnowsWhoCame: a process that asked once, idles, and hears of those that come, does not take the
// quotas for its own when all lose the store.
func TestWhoIdledKnowsWhoCame(t *testing.T) {
	for _, text := range lost {
		for _, idle := range []time.Duration{0, 5 * time.Second, 30 * time.Second} {
			for _, busy := range []time.Duration{time.Second, 6 * time.Second} {
				name := fmt.Sprint(text, " ", idle, " ", busy)
				if !whole.Part(5, name) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						f := newLosable(t, text)
						f.join(1)
						f.once(0)
						time.Sleep(idle)
						f.join(4)
						f.busy(busy+15*time.Second, 1, 5)
						time.Sleep(busy)
						f.lose(1)
					})
				})
			}
		}
	}
}

// TestWhoIdledKnowsThatOthersUse: what was left of a window when a process asked last, others that it knows
// have used.
func TestWhoIdledKnowsThatOthersUse(t *testing.T) {
	for _, text := range lost {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newLosable(t, text)
				f.join(5)
				for by := range f.all {
					f.once(by)
				}
				time.Sleep(3 * time.Second) // what it got ahead has expired
				f.once(0)
				if n := f.all[0].State().Store.Members; n != 1 {
					t.Fatalf("%d are active, want 1", n)
				}
				time.Sleep(20 * time.Second)
				f.busy(16*time.Second, 1, 5)
				time.Sleep(time.Second)
				f.lose(1)
			})
		})
	}
}

// TestWhoSendSeldomCount: ten processes that send each five seconds know that they are ten.
func TestWhoSendSeldomCount(t *testing.T) {
	for _, text := range lost {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newLosable(t, text)
				f.join(10)
				for range 6 {
					for by := range f.all {
						f.once(by)
						time.Sleep(500 * time.Millisecond)
					}
				}
				f.lose(1)
			})
		})
	}
}

// TestWhoIdlesForLongAddsItsPart: the others do not count processes which have asked for nothing for a minute.
// These divide by the others and themselves.
func TestWhoIdlesForLongAddsItsPart(t *testing.T) {
	for _, text := range lost {
		for _, idle := range []int{1, 2} {
			for _, busy := range []int{1, 4} {
				for name, asks := range map[string]bool{"they were there first": false, "they knew the others": true} {
					name := fmt.Sprint(text, " ", idle, " beside ", busy, ", ", name)
					if !whole.Part(5, name) {
						continue
					}
					t.Run(name, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							f := newLosable(t, text)
							f.join(idle + busy)
							for by := range idle {
								f.once(by)
							}
							if asks {
								f.busy(70*time.Second, idle, idle+busy)
							}
							time.Sleep(70 * time.Second)
							f.busy(21*time.Second, idle, idle+busy)
							time.Sleep(6 * time.Second)
							f.lose(1 + float64(idle)/float64(busy+1))
						})
					})
				}
			}
		}
	}
}
