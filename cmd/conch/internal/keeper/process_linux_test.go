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

// process is a conch run that has started.
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

func (p *process) says(text string) {
	p.Helper()
	p.Says(patience, text)
}

func (p *process) send(sig unix.Signal) {
	p.Helper()
	p.Process.Signal(sig)
}

// end waits for the end, demands that no process is left, and returns the exit code.
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

// wait returns the exit code. It kills a process that does not end by itself.
func (p *process) wait() int {
	p.Helper()
	return p.Wait(patience)
}

// A search for marks may miss a process in the moment after its exec, when it has no environment.
// What a test has started is ended all the same.
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
				t.Errorf("after the end of its test the process is in state %s, want none", s)
			}
		})
	}
}
