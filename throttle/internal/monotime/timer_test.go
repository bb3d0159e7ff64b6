package monotime

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTimer: it is set for one instant at a time, the latest; it calls once, after a nap at the latest; and who stops it hears whether it was set.
func TestTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex // protects called
		var called []time.Duration
		call := func() {
			mu.Lock()
			defer mu.Unlock()
			called = append(called, time.Since(start))
		}
		var timer Timer
		if timer.Stop() {
			t.Error("it was stopped before it was set")
		}
		for in := range 5 {
			timer.Set(time.Duration(in+1)*time.Second, call)
		}
		time.Sleep(time.Minute)
		timer.Set(time.Hour, call)
		time.Sleep(time.Minute)
		if timer.Stop() {
			t.Error("it was set again by itself")
		}
		timer.Set(time.Second, call)
		if !timer.Stop() {
			t.Error("it was not set")
		}
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if len(called) != 2 || called[0] != 5*time.Second || called[1] != time.Minute+Nap {
			t.Errorf("called after %v, want 5s and %v", called, time.Minute+Nap)
		}
	})
}
