package monotime

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// TestTimer: it is set for one instant at a time, the latest; it calls once, after a nap at the latest; it
// knows whether it is set, and who stops it hears of it. To set it once more, for the same instant or for
// another, allocates nothing.
func TestTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex // protects called
		var called []time.Duration
		call := func(calls *[]time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			*calls = append(*calls, time.Since(start))
		}
		var timer Timer[*[]time.Duration]
		now := func() Time { return Time(time.Since(start)) + 1 }
		set := func(d time.Duration) { timer.Set(now(), d, call, &called) }
		check := func(want bool) {
			t.Helper()
			if got := timer.IsSet(now()); got != want {
				t.Errorf("after %v: set is %v, want %v", time.Since(start), got, want)
			}
		}
		if timer.Stop() {
			t.Error("it was stopped before it was set")
		}
		check(false)
		for in := range 5 {
			set(time.Duration(in+1) * time.Second)
		}
		time.Sleep(4 * time.Second)
		set(time.Second) // for the same instant
		check(true)
		time.Sleep(time.Minute - 4*time.Second)
		check(false)
		set(time.Hour)
		time.Sleep(Nap - 1)
		check(true)
		time.Sleep(Nap + 1)
		check(false)
		if timer.Stop() {
			t.Error("it was set again by itself")
		}
		set(time.Second)
		check(true)
		if !timer.Stop() {
			t.Error("it was not set")
		}
		check(false)
		set(time.Second) // for the instant for which it was stopped
		if !timer.Stop() {
			t.Error("it was not set again")
		}
		time.Sleep(time.Minute)
		d := time.Second
		if n := testing.AllocsPerRun(1000, func() { d++; set(d); set(d) }); n > 0 {
			t.Errorf("to set it again allocates %v times", n)
		}
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		if len(called) != 2 || called[0] != 5*time.Second || called[1] != time.Minute+Nap {
			t.Errorf("called after %v, want 5s and %v", called, time.Minute+Nap)
		}
	})
}

// TestTimerHasRoom: what a Timer calls has room for some calls within calls, without a move of what is on the
// stack already.
func TestTimerHasRoom(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		var timer Timer[*bool]
		moved := new(bool)
		timer.Set(1, time.Second, func(moved *bool) {
			var here byte
			before := uintptr(unsafe.Pointer(&here))
			_ = calls(8)
			*moved = before != uintptr(unsafe.Pointer(&here))
		}, moved)
		time.Sleep(time.Second)
		if synctest.Wait(); *moved {
			t.Error("the stack has grown, and what was on it was moved")
		}
	})
}

// calls calls itself n times, and takes 200 bytes of stack each time.
//
//go:noinline
func calls(n uint) byte {
	var room [160]byte
	if n > 0 {
		room[n] = calls(n - 1)
	}
	return room[n%uint(len(room))]
}
