//go:build unix

package bench

import (
	"syscall"
	"time"
)

// CPU returns how long the processors have worked for this process, zero if nobody knows.
func CPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
