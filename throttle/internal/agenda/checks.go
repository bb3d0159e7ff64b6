package agenda

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Checks bounds how often a whole line is checked. A check takes up to a microsecond for each who waits, so n
// are checked once in n · checkAfter; but short lines as often as they change, within checkCredit.
type Checks struct {
	paid monotime.Time // until when the checks so far have used up the time for checks
}

const (
	checkAfter  = 10 * time.Microsecond
	checkCredit = time.Millisecond
)

// Next returns in how long a line of n may be checked. If that is now, zero, the check counts.
func (c *Checks) Next(now monotime.Time, n int) time.Duration {
	in := max(c.paid.Sub(now)-checkCredit, 0)
	if in == 0 {
		c.paid = max(c.paid, now).Add(time.Duration(n) * checkAfter)
	}
	return in
}
