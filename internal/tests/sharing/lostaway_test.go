package sharing

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// TestLostAndAway: a store that has lost a bucket, and is out of reach before all processes have asked again, has counted some of them, or one. Each
// goes on with its part of all that shared the bucket before: nothing is over.
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
