package keeper_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/internal/proctest"
)

// process is a conch run that goes on.
type process struct {
	*testing.T
	*proctest.Process
	stdin io.Closer
}

func begin(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	return &process{T: t, Process: proctest.Listen(t, cmd), stdin: stdin}
}

// says waits for a line with that text.
func (p *process) says(text string) {
	p.Helper()
	p.Says(patience, text)
}

func (p *process) send(sig unix.Signal) {
	p.Helper()
	p.Process.Signal(sig)
}

// end waits for its end, demands that nothing of it is left, and returns the exit
// code.
func (p *process) end() int {
	p.Helper()
	code := p.wait()
	if pids := marked(p.T); len(pids) > 0 {
		for _, pid := range pids {
			command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			p.Errorf("process %d outlives conch, in state %s: %q", pid, state(pid), command)
		}
	}
	return code
}

// wait ends whatever does not end by itself.
func (p *process) wait() int {
	p.Helper()
	return p.Wait(patience)
}

// A process has no environment in the moment after its exec, so that a search for its mark may
// miss it: what a test has started ends all the same, and nobody waits for it without end.
func TestOneThatNoSweepFindsIsEnded(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T, *exec.Cmd) *process{
		"by its lines": begin,
		"on a terminal": func(t *testing.T, cmd *exec.Cmd) *process {
			t.Helper()
			return newScreen(t).job(cmd)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p *process
			t.Run("a test that ends early", func(t *testing.T) {
				cmd := marks(t, exec.Command("sleep", "1000"))
				cmd.Env = nil // it has no mark at all
				p = start(t, cmd)
			})
			if s := state(p.Cmd.Process.Pid); s != "" {
				t.Errorf("its test has ended, and it is in state %s", s)
			}
		})
	}
}
