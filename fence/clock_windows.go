package fence

import (
	"math"
	"unsafe"

	"golang.org/x/sys/windows"
)

var queryInterruptTime = windows.NewLazySystemDLL("kernelbase.dll").NewProc("QueryInterruptTimePrecise")

// boottime reads the biased interrupt time, which counts while the machine
// sleeps, in steps of 100 ns.
func boottime() Instant {
	if queryInterruptTime.Find() != nil {
		return math.MaxInt64 // no clock, no leadership: every deadline has passed
	}
	var ticks uint64
	_, _, _ = queryInterruptTime.Call(uintptr(unsafe.Pointer(&ticks)))
	if ticks > math.MaxInt64/100 {
		return math.MaxInt64
	}
	return Instant(ticks * 100)
}
