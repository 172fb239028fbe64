// Package proctest starts the programs that tests need, so that no test waits for one without
// end. Each is known by the handle that its parent has, which never misses it: a search through
// /proc does, since a process shows no environment in the moment after its exec. Each wait has a
// limit, after which the test says what hangs and kills it; and each program is killed with its
// test.
package proctest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const (
	// linger is how long a program's end waits for those of its descendants that have its output.
	linger = 10 * time.Second
	// dying is how long a killed program may take to go on a busy machine.
	dying = 30 * time.Second
)

// Process is a program that runs. Only this package waits for it.
type Process struct {
	Cmd *exec.Cmd
	// Lines are those of its stdout, if it was started by Listen. The channel is closed after the last.
	Lines chan string

	t    testing.TB
	gone chan struct{}
	err  error // of Wait, once it is gone
}

// Start starts a command that is killed when the test ends, if it has not ended by then. A
// WaitDelay that is not set is ten seconds.
func Start(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	return start(t, &Process{Cmd: cmd, t: t})
}

// Listen is Start for a command whose stdout the test reads.
func Listen(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Cmd: cmd, t: t, Lines: make(chan string, 1000)}
	cmd.Stdout = Cut(func(line string) { p.Lines <- line })
	return start(t, p)
}

func start(t testing.TB, p *Process) *Process {
	t.Helper()
	p.gone = make(chan struct{})
	if p.Cmd.WaitDelay == 0 {
		p.Cmd.WaitDelay = linger
	}
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.gone)
		p.err = p.Cmd.Wait()
		if p.Lines != nil {
			close(p.Lines)
		}
	}()
	t.Cleanup(func() {
		p.Kill()
		p.dies()
	})
	return p
}

// Output runs a command to its end, and returns what it printed and how it ended.
func Output(t testing.TB, cmd *exec.Cmd, limit time.Duration) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	p := Start(t, cmd)
	p.Wait(limit)
	return out.String(), p.err
}

// Gone is closed when it has ended, and all that it printed was read.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Signal sends a signal; a process that has ended does not mind.
func (p *Process) Signal(sig os.Signal) {
	p.t.Helper()
	if err := p.Cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("%v to %s: %v", sig, p, err)
	}
}

// Kill ends it at once, and not what it has started.
func (p *Process) Kill() { _ = p.Cmd.Process.Kill() }

// Wait waits for its end and returns its exit code, -1 for an end by a signal. It reads what is
// left of its lines. What does not end within the limit fails the test and is killed.
func (p *Process) Wait(limit time.Duration) int {
	p.t.Helper()
	if !p.within(limit) {
		p.t.Errorf("%s does not end within %v and is killed", p, limit)
		p.Kill()
	}
	if !p.dies() {
		return -1
	}
	if errors.Is(p.err, exec.ErrWaitDelay) {
		p.t.Logf("%s has ended, and what it started still had its output %v later", p, p.Cmd.WaitDelay)
	}
	return p.Cmd.ProcessState.ExitCode()
}

// dies waits for one that was killed.
func (p *Process) dies() bool {
	p.t.Helper()
	if limit := p.Cmd.WaitDelay + dying; !p.within(limit) {
		p.t.Errorf("%s was killed and is still there after %v", p, limit)
		return false
	}
	return true
}

// within waits until it is gone, and no longer than that.
func (p *Process) within(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for lines := p.Lines; ; {
		select {
		case _, more := <-lines: // one that nobody reads could not end
			if !more {
				lines = nil
			}
		case <-p.gone:
			return true
		case <-timer.C:
			return false
		}
	}
}

// Says waits for a line with that text, and returns it.
func (p *Process) Says(limit time.Duration, text string) string {
	p.t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case line, more := <-p.Lines:
			if !more {
				p.t.Fatalf("%s ended without saying %q", p, text)
			}
			if strings.Contains(line, text) {
				return line
			}
		case <-timer.C:
			p.t.Fatalf("%s did not say %q within %v", p, text, limit)
		}
	}
}

// String is its command line.
func (p *Process) String() string { return strings.Join(p.Cmd.Args, " ") }

// Cut is an output of a command that is cut into lines. What comes after the last line's end is
// left out.
func Cut(to func(line string)) io.Writer { return &liner{to: to} }

type liner struct {
	to   func(line string)
	rest []byte
}

// Write never fails.
func (l *liner) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte{'\n'})
		if !whole {
			return len(b), nil
		}
		l.to(string(line))
		l.rest = rest
	}
}
