package agenda

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

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
