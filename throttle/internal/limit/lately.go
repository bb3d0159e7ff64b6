package limit

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// lately is what went in the windows of a Grid that may lie in the last Per. While the clock is not set, any
// Per touches two windows, so that no more than 2N go in it. After a setting it may touch more: then it is
// counted, by windows, how much went in the last Per.
type lately struct {
	until    monotime.Time // from then on all is as if the clock had never been set
	carried  bool          // the window that runs was another one before the clock was set
	from     monotime.Time // when it began then
	current  monotime.Time // when the last of it went
	previous monotime.Time // when the last of the window before it went
	older    []went        // of the windows before these, what went in the last Per
}

// went is how much went in a window, and when the last of it.
type went struct {
	n    int64
	last monotime.Time
}

// wasSet reports whether a setting of the clock matters at t: windows that began before it may lie in the last
// Per.
func (l *lately) wasSet(t monotime.Time) bool { return t < l.until }

// set notes that the clock is set at t, while a window runs that began at start.
func (l *lately) set(t, start monotime.Time, per time.Duration) {
	l.until = t.Add(per).Add(per) // when the first window that begins after t is over
	if !l.carried {
		l.carried, l.from = true, start
	}
}

// over reports whether the window that runs is over for t by how long ago the last went in it: it may have
// become longer than Per when the clock was set.
func (l *lately) over(t monotime.Time, per time.Duration) bool {
	return l.carried && t >= l.current.Add(per)
}

// next notes that another window runs at t. So much went in the window before the one that ran.
func (l *lately) next(t monotime.Time, previous int64, per time.Duration) {
	if previous > 0 && t < l.until {
		l.older = append(l.older, went{previous, l.previous})
	}
	l.older = slices.DeleteFunc(l.older, func(w went) bool { return w.last.Add(per) <= t })
	l.carried, l.previous = false, l.current
}

// room returns when n more are no more than most in Per, not before t, after so much in the window that runs
// and in the one before it.
func (l *lately) room(t monotime.Time, per time.Duration, current, previous, n, most int64) monotime.Time {
	all := append([]went{{current, l.current}, {previous, l.previous}}, l.older...)
	for {
		sum, next := n, monotime.Time(0)
		for _, w := range all {
			if end := w.last.Add(per); w.n > 0 && end > t {
				sum += w.n
				if next == 0 || end < next {
					next = end
				}
			}
		}
		if sum <= most || next == 0 {
			return t
		}
		t = next
	}
}
