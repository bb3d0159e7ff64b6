package sharing

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// TestLostAndAway: a store that has lost a bucket, and is out of reach before all processes have asked again,
// has counted some of them, or one. Each goes on with its part of all that shared the bucket before: nothing is
// over.
func TestLostAndAway(t *testing.T) {
	for _, text := range []string{"100/s even", "100/s burst 20", "60/2s log", "60/2s sliding", "60/2s window grid"} {
		for asked := range 5 { // so many processes reach the store after the loss, for 20 ms
			synctest.Test(t, func(t *testing.T) {
				lost := 6100 * time.Millisecond
				f := &fleet{start: time.Now(), end: 14 * time.Second}
				m := new(store.Memory)
				time.AfterFunc(lost, m.Lose)
				var stores []store.Store
				for i := range 5 {
					begin := lost
					if i < asked {
						begin += 20 * time.Millisecond
					}
					stores = append(stores, &away{Memory: m, down: func() bool {
						since := time.Since(f.start)
						return since >= begin && since < lost+4*time.Second
					}})
				}
				f.run(t, text, throttle.OutageShare, []int{1, 1, 1}, stores...)
				f.wait.Wait()
				if n := over(text, f.sends); n > 0 {
					t.Errorf("%s, %d asked after the loss: %d over", text, asked, n)
				}
			})
		}
	}
}

// TestLostAndAwayAsOneComes: a process comes while others cannot reach the store, and reaches it, for some
// moments, when it has lost the bucket. It does not know of the others, which have not asked again, and so it
// does not know its part.
func TestLostAndAwayAsOneComes(t *testing.T) {
	for _, text := range []string{"100/s even", "100/s burst 20", "60/2s log", "60/2s sliding", "60/2s window grid"} {
		for _, moments := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 480 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				const lost, begin, back = 5500 * time.Millisecond, 5 * time.Second, 11 * time.Second
				f := &fleet{start: time.Now(), end: 16 * time.Second}
				m := new(store.Memory)
				time.AfterFunc(lost, m.Lose)
				var stores []store.Store
				for i := range 3 {
					stores = append(stores, &away{Memory: m, down: func() bool {
						since := time.Since(f.start)
						if i == 0 && (since < begin || since >= 7*time.Second && since < 7*time.Second+moments) {
							return since < begin
						}
						return since >= begin && since < back
					}})
				}
				f.run(t, text, throttle.OutageShare, []int{1, 1, 1}, stores...)
				f.wait.Wait()
				if n := over(text, f.sends); n > 0 {
					t.Errorf("%s, reached for %v: %d over", text, moments, n)
				}
				after := 0
				for _, s := range f.sends {
					if s.by == 0 && s.at >= back {
						after++
					}
				}
				if after == 0 {
					t.Errorf("%s, reached for %v: who came got nothing when the store was back", text, moments)
				}
			})
		}
	}
}

// TestLostAndSoonBack: a store that has lost a bucket, and is out of reach before half a second is over in
// which it hands out nothing, has heard nobody in that time. So half a second passes when it is back, in which
// all tell what they sent; also if it was away for so short that nobody had asked in vain for longer than after
// any loss.
func TestLostAndSoonBack(t *testing.T) {
	for _, text := range []string{"100/s burst 10", "100/s burst 20", "100/s burst 40", "60/2s log", "60/2s sliding"} {
		for back := 500 * time.Millisecond; back < 1200*time.Millisecond; back += 30 * time.Millisecond {
			if !whole.Part(3, fmt.Sprint(text, back)) {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				lost := 6100 * time.Millisecond
				f := &fleet{start: time.Now(), end: 10 * time.Second}
				m := new(store.Memory)
				time.AfterFunc(lost, m.Lose)
				var stores []store.Store
				for i := range 5 {
					begin := lost + 5*time.Millisecond + time.Duration(i)*50*time.Millisecond
					stores = append(stores, &away{Memory: m, down: func() bool {
						since := time.Since(f.start)
						return since >= begin && since < lost+back
					}})
				}
				f.run(t, text, throttle.OutageShare, []int{1, 1, 1}, stores...)
				f.wait.Wait()
				if n := over(text, f.sends); n > 0 {
					t.Errorf("%s, back %v after the loss: %d over", text, back, n)
				}
			})
		}
	}
}
