package filequota

import (
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot reads the clock that counts sleep, and by how much it is ahead of the one that does not. In a time
// namespace both are off: see time_namespaces(7).
func sinceBoot() (now, asleep time.Duration) {
	off := offsets()
	awake := gettime(unix.CLOCK_MONOTONIC) - off.monotonic
	all := gettime(unix.CLOCK_BOOTTIME) - off.boottime
	if all < awake { // there is no such clock
		return awake, 0
	}
	return all, all - awake
}

func gettime(clock int32) time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(clock, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

type offset struct{ monotonic, boottime time.Duration }

var offsets = sync.OnceValue(func() offset {
	text, _ := os.ReadFile("/proc/self/timens_offsets") // absent before Linux 5.6
	return parseOffsets(string(text))
})

// parseOffsets reads lines of a clock, seconds, and nanoseconds.
func parseOffsets(text string) (o offset) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		s, err1 := strconv.ParseInt(f[1], 10, 64)
		ns, err2 := strconv.ParseInt(f[2], 10, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		d := time.Duration(s)*time.Second + time.Duration(ns)
		switch f[0] {
		case "monotonic":
			o.monotonic = d
		case "boottime":
			o.boottime = d
		}
	}
	return o
}

// boot is absent in WSL 1, and each container of LXC has its own.
func boot() (id bootID) {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if digits := strings.ReplaceAll(strings.TrimSpace(string(text)), "-", ""); len(digits) == 2*len(id) {
		_, _ = hex.Decode(id[:], []byte(digits))
	}
	return id
}
