package monotime

import "time"

// Timer calls a function when its time has come, or a [Nap] has passed: then it is to be set again. The zero Timer is not set.
type Timer struct{ timer *time.Timer }

// Set has f called, by a goroutine of its own, in d, and not when it was set for before. It is the same f each time.
func (t *Timer) Set(d time.Duration, f func()) {
	if d = min(d, Nap); t.timer == nil {
		t.timer = time.AfterFunc(d, f)
	} else {
		t.timer.Reset(d)
	}
}

// Stop keeps the function from being called. It reports whether the Timer was set.
func (t *Timer) Stop() bool { return t.timer != nil && t.timer.Stop() }
