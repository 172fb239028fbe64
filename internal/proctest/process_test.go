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

// patience is for what comes at once on an idle machine.
const patience = time.Minute

// judged is a test whose failures are kept for another to look at.
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

// A program that does not end, and one that is stopped and could not even be asked to: both are
// named and killed.
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
				t.Errorf("exit code %d, alive: %t", code, alive(p.Cmd.Process.Pid))
			}
			if len(j.faults) != 1 || !strings.Contains(j.faults[0], "trap") || !strings.Contains(j.faults[0], "does not end within 50ms") {
				t.Errorf("the test was told %q", j.faults)
			}
			j.end()
		})
	}
}

// What a program has started and left behind has its output for as long as it likes.
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
		t.Errorf("exit code %d, and what it left lives: %t", code, alive(pid))
	}
}

// Nobody reads what it prints, and it prints more than any buffer takes.
func TestNobodyReads(t *testing.T) {
	t.Parallel()
	p := proctest.Listen(t, shell(`i=0; while [ $i -lt 20000 ]; do echo a line of its many lines; i=$((i+1)); done; exit 5`))
	if code := p.Wait(patience); code != 5 {
		t.Errorf("exit code %d", code)
	}
}

// A test that ends ends its programs, and does not fail for it.
func TestItEndsWithItsTest(t *testing.T) {
	t.Parallel()
	j := &judged{TB: t}
	p := proctest.Start(j, shell(`exec sleep 1000`))
	j.end()
	select {
	case <-p.Gone():
	default:
		t.Error("its test has ended, and it runs")
	}
	if len(j.faults) > 0 {
		t.Errorf("the test was told %q", j.faults)
	}
	p.Signal(syscall.SIGTERM) // does not mind
	if len(j.faults) > 0 {
		t.Errorf("of a signal to one that has ended the test was told %q", j.faults)
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	out, err := proctest.Output(t, shell("echo one; echo two >&2; exit 7"), patience)
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 7 || out != "one\ntwo\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := proctest.Output(t, shell("echo fine"), patience); err != nil || out != "fine\n" {
		t.Errorf("%q, %v", out, err)
	}
}
