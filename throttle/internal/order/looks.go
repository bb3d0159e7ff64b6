package order

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Rank orders waiters, the smallest first: by the instant at which a claim was first made, less an ageing for each step
// of its priority above the normal one. The order of two ranks never changes, since all age alike. An ageing of zero
// means ten seconds; if negative, they do not age.
func Rank(since monotime.Time, steps int, ageing time.Duration) monotime.Time {
	switch {
	case ageing == 0:
		ageing = 10 * time.Second
	case ageing < 0 || ageing > monotime.Longest:
		ageing = monotime.Longest
	}
	return since.Add(-time.Duration(steps) * ageing)
}

// Looks bounds how often a whole line is looked at. A look takes up to a microsecond for each who waits, so n are
// looked at once in n · lookAfter; but short lines as often as they change, within lookCredit.
type Looks struct {
	paid monotime.Time // until when the looks so far have used up the time for looks
}

const (
	lookAfter  = 10 * time.Microsecond
	lookCredit = time.Millisecond
)

// Next returns in how long a line of n may be looked at. If that is now, zero, the look counts.
func (l *Looks) Next(now monotime.Time, n int) time.Duration {
	in := max(l.paid.Sub(now)-lookCredit, 0)
	if in == 0 {
		l.paid = max(l.paid, now).Add(time.Duration(n) * lookAfter)
	}
	return in
}
