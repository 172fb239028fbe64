// Package proctest starts the programs that tests need. Every wait has a limit, after which the
// test names the program that hangs and kills it, and every program is killed when its test ends.
// Tests know a program by its handle: a search through /proc can miss it, since a process shows no
// environment in the moment after its exec.
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
	// linger is the default WaitDelay: how long to wait for descendants that hold the program's output.
	linger = 10 * time.Second
	// dying is how long a killed program may take to end on a busy machine.
	dying = 30 * time.Second
)

// Process is a running program. Only this package may call Cmd.Wait.
type Process struct {
	Cmd *exec.Cmd
	// Lines are the lines of stdout after Listen, otherwise nil. It is closed after the last line.
	Lines chan string

	t    testing.TB
	gone chan struct{}
	err  error // result of Cmd.Wait, valid once gone is closed
}

// Start starts a command. If it still runs when the test ends, it is killed. If WaitDelay is not
// set, it is ten seconds.
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

// Output runs a command to its end and returns its stdout and stderr, and the error of its Wait.
func Output(t testing.TB, cmd *exec.Cmd, limit time.Duration) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	p := Start(t, cmd)
	p.Wait(limit)
	return out.String(), p.err
}

// Gone returns a channel that is closed when the program has ended and all its output was read.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Signal sends a signal. It does nothing if the program has ended.
func (p *Process) Signal(sig os.Signal) {
	p.t.Helper()
	if err := p.Cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("%v to %s: %v", sig, p, err)
	}
}

// Kill kills the program, but not its descendants.
func (p *Process) Kill() { _ = p.Cmd.Process.Kill() }

// Wait waits for the end of the program and returns its exit code, -1 if a signal ended it. It
// discards the remaining lines. A program that does not end within the limit fails the test and is
// killed.
func (p *Process) Wait(limit time.Duration) int {
	p.t.Helper()
	if !p.within(limit) {
		p.t.Errorf("%s does not end within %v, and the test kills it", p, limit)
		p.Kill()
	}
	if !p.dies() {
		return -1
	}
	if errors.Is(p.err, exec.ErrWaitDelay) {
		p.t.Logf("%s has ended, and a descendant still held its output %v later", p, p.Cmd.WaitDelay)
	}
	return p.Cmd.ProcessState.ExitCode()
}

// dies waits for the end of a program that was killed.
func (p *Process) dies() bool {
	p.t.Helper()
	if limit := p.Cmd.WaitDelay + dying; !p.within(limit) {
		p.t.Errorf("%s was killed and still runs after %v", p, limit)
		return false
	}
	return true
}

// within reports whether the program ends within the limit.
func (p *Process) within(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for lines := p.Lines; ; {
		select {
		case _, more := <-lines: // a program whose lines are not read could not end
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

// Says waits for a line that contains the text and returns it.
func (p *Process) Says(limit time.Duration, text string) string {
	p.t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var seen []string
	for {
		select {
		case line, more := <-p.Lines:
			if !more {
				p.t.Fatalf("%s ended without a line that contains %q", p, text)
			}
			if strings.Contains(line, text) {
				return line
			}
			seen = append(seen, line)
		case <-timer.C:
			p.t.Fatalf("%s printed no line that contains %q within %v, but %q", p, text, limit, seen)
		}
	}
}

func (p *Process) String() string { return strings.Join(p.Cmd.Args, " ") }

// Cut returns a writer that calls to for each whole line. It drops an unfinished last line.
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
