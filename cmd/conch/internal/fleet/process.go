//go:build unix

package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/conchhq/conch/cmd/conch/internal/worker"
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
}

// Launcher starts processes from one OS thread that lives as long as the
// launcher: the parent-death signal is sent when that thread ends.
type Launcher struct {
	starts chan func()
}

// NewLauncher starts the thread.
func NewLauncher() *Launcher {
	l := &Launcher{starts: make(chan func())}
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

// Launch starts a node and passes on what it reports until it has ended.
func (l *Launcher) Launch(program string, args, env []string, tell func(News)) (*Process, error) {
	// No context: a node ends by a signal, and its end is news like any other.
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Env = append(os.Environ(), env...)
	p := &Process{cmd: cmd, last: &LastLine{}}
	cmd.Stderr = p.last
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := l.Start(cmd); err != nil {
		return nil, err
	}
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			var r worker.Report
			if json.Unmarshal(lines.Bytes(), &r) == nil {
				tell(News{From: p, Report: r})
			}
		}
		_ = cmd.Wait() // how it ended is known: we killed it, or stderr says why
		tell(News{From: p, Ended: true})
	}()
	return p, nil
}

// PID is the process number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal; a process that has ended does not mind.
func (p *Process) Signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// LastLine keeps the last line written to it: why a process ended unasked.
type LastLine struct {
	mu   sync.Mutex
	text string
}

// Write never fails.
func (l *LastLine) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := strings.TrimSpace(string(b)); text != "" {
		l.text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	return len(b), nil
}

func (l *LastLine) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}

// LastWords is the last line it wrote to stderr: why it ended unasked.
func (p *Process) LastWords() string { return p.last.String() }

// Leave closes its stdin: without a signal it understands that we are gone.
func (p *Process) Leave() { _ = p.stdin.Close() }
