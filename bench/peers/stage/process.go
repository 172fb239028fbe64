//go:build linux

package stage

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/conchhq/conch/internal/fleet"
)

// memory returns the resident memory of a process in MB.
func memory(p *fleet.Process) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			kb, err := strconv.ParseFloat(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))), 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("no VmRSS of process %d", p.PID())
}
