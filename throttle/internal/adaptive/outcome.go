package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// outcome is what an answer says of one window, beside what was known of the window before.
type outcome struct {
	sent, now monotime.Time
	n         int // what the request has cost of the limit
	limit     int // how much there is in all; zero if that is not known, or not in what a request costs
	span      time.Duration
	remaining int
	refused   bool
	probe     bool  // it went although nothing remained
	on        guess // the guess on which it went, if it did
	newer     bool  // the answer was written after all others
	moved     bool  // the reset moved on before it came
	rounded   bool  // that resets are rounded down is known from this answer on

	before      int           // the least Remaining before
	early, late monotime.Time // the reset before
	spent       monotime.Time // since when nothing remained
}
