//go:build linux

package stage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// starts passes work to the thread that starts processes. They get SIGKILL when that thread ends, so
// it lives as long as this program.
var starts = make(chan func())

// Open starts the thread. Call it once.
func Open() {
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
}

// linger is how long to wait, after a process has ended, for descendants that hold its output.
const linger = 10 * time.Second

type process struct {
	cmd   *exec.Cmd
	stdin io.Closer // held open: conch's workers end with it
	words *bytes.Buffer
	gone  chan struct{}
}

// launch starts a process, which gets the settings of conch and Postgres in env and none of the
// caller's.
func launch(program string, args, env []string) (*process, error) {
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Env = append(withoutSettings(os.Environ()), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p := &process{cmd: cmd, words: &bytes.Buffer{}, gone: make(chan struct{})}
	cmd.Stderr, cmd.WaitDelay = p.words, linger // read after its end
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	done := make(chan error, 1)
	starts <- func() { done <- cmd.Start() }
	if err := <-done; err != nil {
		return nil, err
	}
	go func() {
		defer close(p.gone)
		_ = cmd.Wait()
	}()
	return p, nil
}

// withoutSettings removes settings that would configure a candidate differently from its part, such
// as a lock mode of conch or a connection setting of Postgres.
func withoutSettings(environ []string) []string {
	return slices.DeleteFunc(environ, func(setting string) bool {
		return strings.HasPrefix(setting, "CONCH_") || strings.HasPrefix(setting, "PG")
	})
}

func (p *process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// over returns the last words of a process that has ended.
func (p *process) over() (words string, ended bool) {
	select {
	case <-p.gone:
		const most = 1000 // the beginning of a panic says what it is
		words = strings.TrimSpace(p.words.String())
		return words[:min(len(words), most)], true
	default:
		return "", false
	}
}

// wait waits for the end of the process, at most for the given time.
func (p *process) wait(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-p.gone:
	case <-timer.C:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

func (p *process) end() {
	p.signal(syscall.SIGKILL)
	<-p.gone
	_ = p.stdin.Close()
}

// memory returns the resident memory in MB.
func (p *process) memory() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			kb, err := strconv.ParseFloat(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))), 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("no VmRSS of process %d", p.cmd.Process.Pid)
}
