//go:build unix

package fleet

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Command says how a process is run.
type Command struct {
	Program string
	Args    []string
	Env     []string   // beside the caller's environment, of which it gets no setting of conch or of a client of Postgres
	Log     io.Writer  // gets stderr; nil: only its last words are kept
	Tell    func(News) // gets each line of stdout, and at last the end; nil: nobody does
}

// News is a line that a process prints, or its end.
type News struct {
	From  *Process
	Line  []byte // without its end
	Ended bool
}

// Process is one started process.
type Process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser // held open: its end tells the process that we are gone
	last  *LastLine
	over  chan struct{}
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

// start starts a command in its own process group that dies with this program.
func (l *Launcher) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr, cmd.WaitDelay = nodeAttributes(), l.Linger
	done := make(chan error, 1)
	l.starts <- func() { done <- cmd.Start() }
	return <-done
}

// Launch starts a process.
func (l *Launcher) Launch(c Command) (*Process, error) {
	// No context: a process ends by a signal, and its end is news.
	cmd := exec.CommandContext(context.Background(), c.Program, c.Args...)
	cmd.Env = append(environ(), c.Env...)
	p := &Process{cmd: cmd, last: &LastLine{}, over: make(chan struct{})}
	if c.Tell != nil {
		cmd.Stdout = Lines(func(line []byte) { c.Tell(News{From: p, Line: line}) })
	}
	if cmd.Stderr = p.last; c.Log != nil {
		cmd.Stderr = io.MultiWriter(p.last, c.Log)
	}
	var err error
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := l.start(cmd); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait() // the reason is known: we killed it, or stderr has it
		close(p.over)
		if c.Tell != nil {
			c.Tell(News{From: p, Ended: true})
		}
	}()
	return p, nil
}

// environ returns the caller's environment without what would configure a process differently from its command.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(setting string) bool {
		return strings.HasPrefix(setting, "CONCH_") || strings.HasPrefix(setting, "PG")
	})
}

// PID returns the process number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal. It does nothing if the process has ended.
func (p *Process) Signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// Yield has processes with the usual priority go first, also before what this one starts later. It does nothing if the process has ended.
func (p *Process) Yield() { _ = syscall.Setpriority(syscall.PRIO_PGRP, p.PID(), 10) }

// LastWords returns the last line on stderr, which says why the process ended.
func (p *Process) LastWords() string { return p.last.String() }

// Said returns the last words of a process of that name, as the end of an error; empty if it has none, or there is no process.
func (p *Process) Said(name string) string {
	if p == nil || p.LastWords() == "" {
		return ""
	}
	return "; " + name + " says: " + p.LastWords()
}

// Unread has nobody read stderr until resume is called.
func (p *Process) Unread() (resume func()) {
	p.last.reading.Lock()
	return p.last.reading.Unlock
}

// Write writes to stdin.
func (p *Process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// CloseStdin tells the process, without a signal, that we are gone. The end of the process closes its stdin too.
func (p *Process) CloseStdin() { _ = p.stdin.Close() }

// Over is closed when the process has ended, and all that it said was passed on but its end.
func (p *Process) Over() <-chan struct{} { return p.over }

// Alive reports whether the process has not ended.
func (p *Process) Alive() bool {
	select {
	case <-p.over:
		return false
	default:
		return true
	}
}

// Code returns the exit code of a process that has ended; -1 after a signal.
func (p *Process) Code() int { return p.cmd.ProcessState.ExitCode() }

// Wait waits for the end of the process, or of the context.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// End asks the process to end, and kills it if it has not within the patience; at once, without asking, if there is none. It
// returns when the process has ended, and reports whether it was killed.
func (p *Process) End(patience time.Duration) (killed bool) { return EndAll(patience, p) }

// EndAll is End for several processes at once.
func EndAll(patience time.Duration, all ...*Process) (killed bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, p := range all {
		if patience > 0 {
			p.Signal(syscall.SIGTERM)
			p.Signal(syscall.SIGCONT) // one that is stopped hears the first after it
		}
	}
	for _, p := range all {
		_ = p.Wait(ctx)
	}
	for _, p := range all {
		if p.Alive() {
			killed = true
			p.Signal(syscall.SIGKILL)
		}
	}
	for _, p := range all {
		<-p.over
	}
	return killed
}
