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

// Process is one started process.
type Process struct {
	cmd   *exec.Cmd
	stdin io.Closer // held open: its end tells the process that we are gone
	last  *LastLine
}

// News is a report of a process, or its end.
type News struct {
	From   *Process
	Report worker.Report
	Ended  bool
	Code   int // exit code, if Ended; -1 after a signal
}

// Launcher starts processes from one OS thread that lives as long as the launcher, since the
// parent-death signal is sent when that thread ends.
type Launcher struct {
	starts chan func()
	// Linger is how long to wait, after a process has ended, for descendants that hold its
	// output; default 10 s. Its end is reported after that: what it started may still act.
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

// Start starts a command in its own process group that dies with this program.
func (l *Launcher) Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = nodeAttributes()
	done := make(chan error, 1)
	l.starts <- func() { done <- cmd.Start() }
	return <-done
}

// Launch starts a process and passes its reports to tell until it has ended. The process gets
// the settings of conch in env, and none of the caller's.
func (l *Launcher) Launch(program string, args, env []string, tell func(News)) (*Process, error) {
	// No context: a process ends by a signal, and its end is news.
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Env = append(Environ(), env...)
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
		_ = cmd.Wait() // the reason is known: we killed it, or stderr has it
		tell(News{From: p, Ended: true, Code: cmd.ProcessState.ExitCode()})
	}()
	return p, nil
}

// Environ returns the caller's environment without the settings of conch.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(setting string) bool { return strings.HasPrefix(setting, "CONCH_") })
}

// reports splits the output of a process into reports and skips other lines.
type reports struct {
	tell func(worker.Report)
	rest []byte // an incomplete line
}

// longestLine is longer than any report.
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

// PID returns the process number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal. It does nothing if the process has ended.
func (p *Process) Signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// Yield has processes with the usual priority go first, also before what this one starts later. It does nothing if the process has ended.
func (p *Process) Yield() { _ = syscall.Setpriority(syscall.PRIO_PGRP, p.PID(), 10) }

// LastWords returns the last line on stderr, which says why the process ended.
func (p *Process) LastWords() string { return p.last.String() }

// Unread has nobody read stderr until resume is called.
func (p *Process) Unread() (resume func()) {
	p.last.reading.Lock()
	return p.last.reading.Unlock
}

// CloseStdin tells the process, without a signal, that we are gone.
func (p *Process) CloseStdin() { _ = p.stdin.Close() }
