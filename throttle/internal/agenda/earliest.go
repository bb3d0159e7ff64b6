package agenda

import "github.com/gopacer/pacer/throttle/internal/monotime"

// Earliest is the earliest of some instants, but no sooner than right after Now. Those from Before on, and
// zero, which is no instant, do not count.
type Earliest struct {
	Now, Before monotime.Time
	At          monotime.Time // zero if there is none
}

// Or adds an instant.
func (e *Earliest) Or(t monotime.Time) {
	if t != 0 && t < e.Before && (e.At == 0 || t < e.At) {
		e.At = max(t, e.Now+1)
	}
}
