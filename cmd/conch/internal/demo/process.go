//go:build unix

package demo

import (
	"bufio"
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

// process is one life of one node.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer // held open: its end tells the node that we are gone
	last  *lastLine
}

// news is what comes from a process: a report, or its end.
type news struct {
	from   *process
	report worker.Report
	ended  bool
}

// launcher starts processes from one OS thread that lives as long as the
// launcher: the parent-death signal is sent when that thread ends.
type launcher struct {
	starts chan func()
}

func newLauncher() *launcher {
	l := &launcher{starts: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for start := range l.starts {
			start()
		}
	}()
	return l
}

func (l *launcher) close() { close(l.starts) }

// launch starts a node and passes on what it reports until it has ended.
func (l *launcher) launch(program string, args, env []string, tell func(news)) (*process, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = nodeAttributes()
	p := &process{cmd: cmd, last: &lastLine{}}
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
	done := make(chan error, 1)
	l.starts <- func() { done <- cmd.Start() }
	if err := <-done; err != nil {
		return nil, err
	}
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			var r worker.Report
			if json.Unmarshal(lines.Bytes(), &r) == nil {
				tell(news{from: p, report: r})
			}
		}
		_ = cmd.Wait() // how it ended is known: we killed it, or stderr says why
		tell(news{from: p, ended: true})
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// lastLine keeps the last line written to it: why a node ended unasked.
type lastLine struct {
	mu   sync.Mutex
	text string
}

func (l *lastLine) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := strings.TrimSpace(string(b)); text != "" {
		l.text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	return len(b), nil
}

func (l *lastLine) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}
