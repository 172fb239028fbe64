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

// lastMoment is what whoever has closed its output may take to be gone.
const lastMoment = 5 * time.Second

// sweep kills what lives on of machines whose processes have all ended, after patience,
// and says how many. By now there must be nothing: what `conch run` has started is to
// end with it.
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

// leftover finds processes by their arguments: the folder of the evidence is ours alone,
// and a keeper has those of its command. Where there is no /proc it finds none.
func (c *Cluster) leftover() (pids []int) {
	if c.cfg.Dir == "" {
		return nil // every list of arguments has an end like that
	}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file) // gone meanwhile
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
