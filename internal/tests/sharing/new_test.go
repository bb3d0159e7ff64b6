package sharing

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// slow are quotas of which a tenth is hours.
var slow = []string{"1000/d log", "10/d log", "1/d log", "1000/d sliding", "1000/d window", "100/d even", "10/d burst 5", "10/d estimate", "10/d window grid", "1/d window grid", "2000/30d", "1000/d"}

// TestFirstUseWaitsForMaxStandstillAtMost: a store that does not know whether it has lost a bucket has a token
// in two minutes.
func TestFirstUseWaitsForMaxStandstillAtMost(t *testing.T) {
	for _, text := range slow {
		for _, standstill := range []time.Duration{0, 10 * time.Second, 700 * time.Millisecond} {
			t.Run(fmt.Sprint(text, standstill), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					s := new(store.Memory)
					s.Lose()
					l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(text), Shared: throttle.Shared{Store: s}, MaxStandstill: standstill}
					if err := l.Wait(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
					bound := standstill
					if bound == 0 {
						bound = 2 * time.Minute
					}
					if took := time.Since(start); took > bound {
						t.Errorf("the first token came after %v, want %v", took, bound)
					}
					if err := l.Close(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// TestNothingButTheFirstTokenIsEarly: what comes back of a bucket that may be lost is no more than comes back
// evenly, but for that token.
func TestNothingButTheFirstTokenIsEarly(t *testing.T) {
	for _, text := range slow {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				s := new(store.Memory)
				s.Lose()
				l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(text), Shared: throttle.Shared{Store: s}, MaxStandstill: throttle.Forever}
				o := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(text), Shared: throttle.Shared{Store: s}}
				defer o.Close()
				defer l.Close()
				if err := o.Wait(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				q := quota.MustParse(text).Explicit()[0]
				span := q.Per
				if *outages <= few {
					span = min(span, whole.Or(3*time.Hour, 3*24*time.Hour)) // in a month, the store is asked half a million times
				}
				ctx, cancel := context.WithTimeout(t.Context(), span)
				defer cancel()
				n := 1
				for ; l.Wait(ctx, 1) == nil; n++ {
					even := float64(q.N) * float64(time.Since(start)) / float64(q.Per)
					if q.Kind.OnClock() {
						even += float64(q.N) // the window that runs may be nearly over
					}
					if q.Kind == quota.EstimatedWindow {
						even++
					}
					if float64(n) > even+1 {
						t.Fatalf("%d went in %v, want %.2f", n+1, time.Since(start), even)
					}
				}
			})
		})
	}
}

// TestABucketIsNew: if its user says so, and nobody knows better, all is there after half a second.
func TestABucketIsNew(t *testing.T) {
	const asked = 502457656 * time.Nanosecond // it asks ever sooner until then, but not more often than each 10 ms
	for _, text := range []string{"1000/d log", "1000/d sliding", "1000/d window", "100/d burst 30", "1000/d window grid", "1000/d estimate"} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			s := new(store.Memory)
			s.Lose()
			l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(text), Shared: throttle.Shared{Store: s, Fresh: true}}
			l.Shared.Event = func(e throttle.StoreEvent) {
				t.Errorf("%s: told %+v, want nothing: it is new, as it was said to be", text, e)
			}
			if err := l.Wait(t.Context(), 20); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took != asked {
				t.Errorf("%s: took %v, want %v", text, took, asked)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	// Likewise of a Transport, and without a Store it is an error.
	tr := &pacer.Transport{Shared: pacer.Shared{Fresh: true}}
	if err, want := tr.Validate(), "pacer: Shared.Fresh is set, want a Store, without which it does nothing"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := new(store.Memory)
		s.Lose()
		tr := &pacer.Transport{Base: lab.OK(), Shared: pacer.Shared{Store: s, Fresh: true}, Quotas: lab.All(quota.MustParse("1000/d log")...)}
		sendFromAll(t, 1, tr)
		if took := time.Since(start); took != asked {
			t.Errorf("took %v, want %v", took, asked)
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
}

// silent is a store without news.
type silent struct{ *store.Memory }

func (silent) Listen(string, func(store.News)) (func(), error) { return nil, errors.ErrUnsupported }

// TestALostBucketIsNotNew: who has used a bucket before it was lost reports that, though all say that it is
// new: at once if it hears of the loss, or with its next request.
func TestALostBucketIsNotNew(t *testing.T) {
	for _, text := range []string{"100/m log", "100/m sliding", "100/m burst 100", "100/m window"} {
		for _, news := range []bool{true, false} {
			t.Run(fmt.Sprint(text, news), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := new(store.Memory)
					s.Lose()
					var each store.Store = s
					if !news {
						each = silent{s}
					}
					start := time.Now()
					var went []sent
					send := func(l *throttle.Limiter, n int) {
						for range n {
							if err := l.Wait(t.Context(), 1); err != nil {
								t.Fatal(err)
							}
							went = append(went, sent{at: time.Since(start), n: 1})
						}
					}
					old := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(text), Shared: throttle.Shared{Store: each, Fresh: true}}
					told := 0
					old.Shared.Event = func(e throttle.StoreEvent) {
						if told++; e.Kind != throttle.StoreLost {
							t.Errorf("told %+v, want that it was lost", e)
						}
					}
					send(old, 90)
					time.Sleep(time.Second)
					s.Lose()
					late := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(text), Shared: throttle.Shared{Store: each, Fresh: true}}
					if !news {
						send(old, 1) // it asks as soon as it needs more
					}
					send(late, 100)
					if n := over(text, went); n > 0 {
						t.Errorf("%d over", n)
					}
					_, _ = old.Close(), late.Close()
					if synctest.Wait(); told != 1 {
						t.Errorf("who knew the bucket was told of the loss %d times, want once", told)
					}
				})
			})
		}
	}
}
