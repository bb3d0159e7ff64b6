package monotime

import "time"

// Timer has a function called with its argument when its time has come, or a [Nap] has passed: then it is to be
// set again. The zero Timer is not set. It has no lock of its own.
type Timer[T any] struct {
	timer *time.Timer
	at    Time // when it fires, on the clock that Set goes by; zero after Stop
}

// Set has f(of) called, by a goroutine of its own, in d, and not when the Timer was set for before. F and of
// are the same each time. Now is read from a clock that stands still while the machine sleeps, as timers do:
// see [Clock.Awake].
func (t *Timer[T]) Set(now Time, d time.Duration, f func(T), of T) {
	at := now.Add(min(d, Nap))
	switch {
	case at == t.at && t.IsSet(now):
	case at <= now: // without a timer: in a bubble of synctest, one that fires as it is set has the race detector fault in its own code
		t.Stop()
		go f(of)
	case t.timer == nil:
		t.timer = time.AfterFunc(at.Sub(now), func() {
			_ = deepen(0)
			f(of)
		})
	default:
		t.timer.Reset(at.Sub(now))
	}
	t.at = at
}

// SetAt is Set for an instant of a clock that says now where the one that Set goes by says awake; Stop if it is
// zero.
func (t *Timer[T]) SetAt(awake, now, at Time, f func(T), of T) {
	if at == 0 {
		t.Stop()
		return
	}
	t.Set(awake, at.Sub(now), f, of)
}

// deepen makes room on the stack of a new goroutine while nothing is on it: to move what is there later costs
// as much as all that f does.
//
//go:noinline
func deepen(i uint) byte {
	var room [5 << 8]byte
	return room[i%uint(len(room))]
}

// IsSet reports whether f is still to be called.
func (t *Timer[T]) IsSet(now Time) bool { return t.at > now }

// Stop keeps f from being called. It reports whether it would have been.
func (t *Timer[T]) Stop() bool {
	t.at = 0
	return t.timer != nil && t.timer.Stop()
}
