package monotime

import (
	"syscall"
	"time"
	"unsafe"
)

// asleep is by how much CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC: see clock_gettime(2). Both are there since
// Linux 2.6.39.
func asleep() (d time.Duration, ok bool) {
	const monotonic, boottime = 1, 7
	awake, ok1 := clock(monotonic)
	all, ok2 := clock(boottime)
	return all - awake, ok1 && ok2
}

func clock(id uintptr) (since time.Duration, ok bool) {
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano()), errno == 0
}
