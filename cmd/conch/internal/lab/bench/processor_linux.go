package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor time that Linux reports to programs.
const tick = 10 * time.Millisecond

// spent returns the processor time of the processes.
func spent(pids ...int) (sum time.Duration) {
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended
		}
		_, after, _ := strings.Cut(string(text), ") ") // a name may contain spaces
		fields := strings.Fields(after)
		for i := 11; i < 13 && i < len(fields); i++ { // in user mode, and in the kernel
			ticks, _ := strconv.Atoi(fields[i])
			sum += time.Duration(ticks) * tick
		}
	}
	return sum
}
