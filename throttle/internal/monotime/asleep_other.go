//go:build !linux

package monotime

import "time"

// asleep is not known.
func asleep() (time.Duration, bool) { return 0, false }
