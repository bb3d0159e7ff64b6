package store

import (
	"math"
	"time"

	"github.com/gopacer/pacer/quota"
)

// Doubt returns how far apart two processes may place the same reset, if both go by such a statement: the
// Resolution, and half a second, since each counts from when its answer came; or two seconds if the reset is
// Absolute, since one process may count it from the answer's Date, in whole seconds, and the other by its own
// clock. Resets that are farther apart are different ones.
func Doubt(s *quota.Statement) time.Duration {
	apart := 500 * time.Millisecond
	if s.Absolute {
		apart = 2 * time.Second
	}
	return max(min(s.Resolution, math.MaxInt64-apart), 0) + apart
}
