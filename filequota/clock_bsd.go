//go:build darwin || freebsd

package filequota

import (
	"crypto/sha256"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot reads the clock that counts sleep, as that of macOS does. By how much is not known.
func sinceBoot() (now, asleep time.Duration) {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0, 0
	}
	return time.Duration(ts.Nano()), 0
}

// boot is known on macOS, and on FreeBSD from 14 on.
func boot() (id bootID) {
	name := "kern.boot_id"
	if runtime.GOOS == "darwin" {
		name = "kern.bootsessionuuid"
	}
	text, err := unix.Sysctl(name)
	if err != nil || text == "" {
		return id
	}
	sum := sha256.Sum256([]byte(text))
	return bootID(sum[:16])
}
