package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor time that Linux reports to programs.
const tick = 10 * time.Millisecond

// spent returns the processor time of the processes.
func spent(pids ...int) (sum time.Duration) {
	for _, pid := range pids {
		sum += ticks(statOf(pid), 11) // in user mode, and in the kernel
	}
	return sum
}

// spentBelow returns the processor time of all processes that have the same parent as this one, also of those that have ended.
func spentBelow(child int) (sum time.Duration) {
	const parent = 1
	fields := statOf(child)
	if len(fields) <= parent {
		return 0
	}
	pid, _ := strconv.Atoi(fields[parent])
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		one, _ := strconv.Atoi(filepath.Base(dir))
		if f := statOf(one); len(f) > parent && f[parent] == fields[parent] {
			sum += ticks(f, 11)
		}
	}
	return sum + ticks(statOf(pid), 13) // of children that it has waited for
}

// statOf reads /proc/PID/stat from its third field on; nothing if the process has ended.
func statOf(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(text), ") ") // a name may contain spaces
	return strings.Fields(after)
}

// ticks adds up two fields of a process.
func ticks(fields []string, first int) (sum time.Duration) {
	for i := first; i < first+2 && i < len(fields); i++ {
		n, _ := strconv.Atoi(fields[i])
		sum += time.Duration(n) * tick
	}
	return sum
}
