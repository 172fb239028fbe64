//go:build unix

package proctest_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/proctest"
)

// patience is a limit for waits that take no time on an idle machine.
const patience = time.Minute

// judged collects failures, so that a test can check them.
type judged struct {
	testing.TB
	faults []string
	after  []func()
}

func (j *judged) Errorf(format string, args ...any) {
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

func (j *judged) Cleanup(f func()) { j.after = append(j.after, f) }

func (j *judged) end() {
	for _, f := range j.after {
		f()
	}
}

func shell(script string) *exec.Cmd { return exec.Command("/bin/sh", "-c", script) }

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// Wait names and kills a program that ignores its signal, and one that is stopped.
func TestAWaitHasAnEnd(t *testing.T) {
	t.Parallel()
	for name, hurt := range map[string]syscall.Signal{"deaf": syscall.SIGTERM, "stopped": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &judged{TB: t}
			p := proctest.Listen(j, shell(`trap '' TERM; echo up; exec sleep 1000`))
			p.Cmd.WaitDelay = time.Millisecond
			p.Says(patience, "up")
			p.Signal(hurt)
			if code := p.Wait(50 * time.Millisecond); code != -1 || alive(p.Cmd.Process.Pid) {
				t.Errorf("got exit code %d and alive %t, want -1 and false", code, alive(p.Cmd.Process.Pid))
			}
			if len(j.faults) != 1 || !strings.Contains(j.faults[0], "trap") || !strings.Contains(j.faults[0], "does not end within 50ms") {
				t.Errorf("the failures are %q, want one that names the command and the limit", j.faults)
			}
			j.end()
		})
	}
}

// Wait does not wait for a descendant that holds the program's output.
func TestAnEndWithoutTheEndOfTheOutput(t *testing.T) {
	t.Parallel()
	cmd := shell(`sleep 1000 & echo $!; exit 3`)
	cmd.WaitDelay = 50 * time.Millisecond
	p := proctest.Listen(t, cmd)
	pid, err := strconv.Atoi(p.Says(patience, ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	if code := p.Wait(patience); code != 3 || !alive(pid) {
		t.Errorf("got exit code %d and a descendant alive %t, want 3 and true", code, alive(pid))
	}
}

// Wait reads the lines that the test does not, even more than a buffer takes.
func TestNobodyReads(t *testing.T) {
	t.Parallel()
	p := proctest.Listen(t, shell(`i=0; while [ $i -lt 20000 ]; do echo a line of its many lines; i=$((i+1)); done; exit 5`))
	if code := p.Wait(patience); code != 5 {
		t.Errorf("got exit code %d, want 5", code)
	}
}

func TestItEndsWithItsTest(t *testing.T) {
	t.Parallel()
	j := &judged{TB: t}
	p := proctest.Start(j, shell(`exec sleep 1000`))
	j.end()
	select {
	case <-p.Gone():
	default:
		t.Error("the program runs after its test has ended")
	}
	if len(j.faults) > 0 {
		t.Errorf("the failures are %q, want none", j.faults)
	}
	p.Signal(syscall.SIGTERM)
	if len(j.faults) > 0 {
		t.Errorf("after a signal to a program that has ended the failures are %q, want none", j.faults)
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	out, err := proctest.Output(t, shell("echo one; echo two >&2; exit 7"), patience)
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 7 || out != "one\ntwo\n" {
		t.Errorf("got output %q and error %v, want both lines and exit code 7", out, err)
	}
	if out, err := proctest.Output(t, shell("echo fine"), patience); err != nil || out != "fine\n" {
		t.Errorf("got output %q and error %v, want %q", out, err, "fine\n")
	}
}
