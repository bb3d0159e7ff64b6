//go:build !unix

package bench

import "time"

// CPU returns how long the processors have worked for this process, zero if nobody knows.
func CPU() time.Duration { return 0 }
