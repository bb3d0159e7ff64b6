package filequota

import (
	"math/bits"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel32  = windows.NewLazySystemDLL("kernel32.dll")
	counter   = kernel32.NewProc("QueryPerformanceCounter")
	frequency = kernel32.NewProc("QueryPerformanceFrequency")
)

// sinceBoot reads the performance counter, which all processes share and which counts sleep. Neither call fails
// since Windows XP.
func sinceBoot() (now, asleep time.Duration) {
	var ticks, perSecond int64
	_, _, _ = counter.Call(uintptr(unsafe.Pointer(&ticks)))
	_, _, _ = frequency.Call(uintptr(unsafe.Pointer(&perSecond)))
	if perSecond <= 0 || ticks < 0 {
		return windows.DurationSinceBoot(), 0
	}
	hi, lo := bits.Mul64(uint64(ticks), uint64(time.Second))
	ns, _ := bits.Div64(hi%uint64(perSecond), lo, uint64(perSecond))
	return time.Duration(ns), 0
}

// boot is not known.
func boot() bootID { return bootID{} }
