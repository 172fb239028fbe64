//go:build unix

package chaos

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/demo"
)

// lastMoment is how long a process may live after it has closed its output.
const lastMoment = 5 * time.Second

// sweep kills processes that outlive their machines by the patience, and returns how many. There
// should be none: everything that conch run starts must end with it.
func (c *Cluster) sweep(patience time.Duration) int {
	until := time.Now().Add(patience)
	pause := time.NewTicker(tick)
	defer pause.Stop()
	for {
		left := c.leftover()
		if len(left) == 0 || !time.Now().Before(until) {
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return len(left)
		}
		<-pause.C
	}
}

// leftover finds processes by their arguments: only this run uses the folder of the evidence, and a
// keeper has the arguments of its command. Without /proc it finds none.
func (c *Cluster) leftover() (pids []int) {
	if c.cfg.Dir == "" {
		return nil // every argument list ends in an empty string
	}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file) // the process may have ended
		args := strings.Split(string(text), "\x00")
		if !slices.Contains(args, c.cfg.Dir) || !slices.Contains(args, ChildCommand) && !slices.Contains(args, demo.NodeCommand) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
