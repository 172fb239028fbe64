//go:build unix

package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
)

// Process is one life of one node.
type Process struct {
	cmd   *exec.Cmd
	stdin io.Closer // held open: its end tells the node that we are gone
	last  *LastLine
}

// News is what comes from a process: a report, or its end.
type News struct {
	From   *Process
	Report worker.Report
	Ended  bool
	Code   int // Ended: its exit code, -1 if a signal has ended it
}

// Launcher starts processes from one OS thread that lives as long as the
// launcher: the parent-death signal is sent when that thread ends.
type Launcher struct {
	starts chan func()
	// Linger is how long after the end of a process that of its descendants is waited
	// for, if they have its output; default 10 s. Its end is told no earlier, since it is
	// no end as long as what it started goes on, and no later.
	Linger time.Duration
}

// NewLauncher starts the thread.
func NewLauncher() *Launcher {
	l := &Launcher{starts: make(chan func()), Linger: 10 * time.Second}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for start := range l.starts {
			start()
		}
	}()
	return l
}

// Close ends the thread, and with it every process that still lives.
func (l *Launcher) Close() { close(l.starts) }

// Start starts a command that dies with this program, in a process group of its own.
func (l *Launcher) Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = nodeAttributes()
	done := make(chan error, 1)
	l.starts <- func() { done <- cmd.Start() }
	return <-done
}

// Launch starts a node and passes on what it reports until it has ended. Of the
// settings of conch it sees those in env, and none of the caller's.
func (l *Launcher) Launch(program string, args, env []string, tell func(News)) (*Process, error) {
	// No context: a node ends by a signal, and its end is news like any other.
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Env = append(foreign(os.Environ()), env...)
	p := &Process{cmd: cmd, last: &LastLine{}}
	cmd.Stdout = &reports{tell: func(r worker.Report) { tell(News{From: p, Report: r}) }}
	cmd.Stderr, cmd.WaitDelay = p.last, l.Linger
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	if err := l.Start(cmd); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait() // why it ended is known: we killed it, or stderr says so
		tell(News{From: p, Ended: true, Code: cmd.ProcessState.ExitCode()})
	}()
	return p, nil
}

// foreign is an environment without settings of conch.
func foreign(environ []string) []string {
	return slices.DeleteFunc(environ, func(setting string) bool { return strings.HasPrefix(setting, "CONCH_") })
}

// reports takes what a process prints apart. What is no report is passed over.
type reports struct {
	tell func(worker.Report)
	rest []byte // a line whose end has not come yet
}

// longestLine is more than any report has.
const longestLine = 64 << 10

// Write never fails.
func (r *reports) Write(b []byte) (int, error) {
	r.rest = append(r.rest, b...)
	for {
		line, rest, whole := bytes.Cut(r.rest, []byte{'\n'})
		if !whole {
			break
		}
		var report worker.Report
		if json.Unmarshal(line, &report) == nil {
			r.tell(report)
		}
		r.rest = rest
	}
	if len(r.rest) > longestLine {
		r.rest = nil
	}
	return len(b), nil
}

// PID is the process number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal; a process that has ended does not mind.
func (p *Process) Signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// LastWords is what it wrote to stderr last: why it ended unasked.
func (p *Process) LastWords() string { return p.last.String() }

// CloseStdin tells the process, without a signal, that we are gone.
func (p *Process) CloseStdin() { _ = p.stdin.Close() }
