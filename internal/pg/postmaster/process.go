//go:build unix

package postmaster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// stragglers limits the wait for backends that outlive the postmaster, such as one
	// that a test has stopped with SIGSTOP.
	stragglers   = 10 * time.Second
	stopPatience = 30 * time.Second
	readyPoll    = 5 * time.Millisecond
)

// process is one run of the server, until the postmaster and all its backends are gone.
type process struct {
	pid  int
	gone chan struct{} // closed once the postmaster and all backends are gone
}

// launch starts the server. Its goroutine keeps its OS thread while the server lives,
// because the parent-death signal comes when that thread ends. The goroutine ends at the
// end of the server's log: every backend holds the other side of that pipe, so this is
// the one portable sign that all of them are gone.
func launch(bin, data string, acc account, env []string, log *logTail) (*process, error) {
	// No context: the server outlives the call that starts it, until Stop.
	cmd := exec.CommandContext(context.Background(), filepath.Join(bin, "postgres"), "-D", data)
	cmd.Dir, cmd.Env = "/", append(environment(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.WaitDelay = stragglers
	cmd.SysProcAttr = acc.attributes()
	tie(cmd.SysProcAttr)

	p := &process{gone: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		defer close(p.gone)
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // the log says how it ended
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	return p, nil
}

// ready waits, like pg_ctl, for "ready" in the last line of postmaster.pid. The first line
// must be our pid, since a killed server leaves its file behind.
func (p *process) ready(ctx context.Context, data string) error {
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	for {
		text, _ := os.ReadFile(filepath.Join(data, "postmaster.pid"))
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if lines[0] == strconv.Itoa(p.pid) && strings.TrimSpace(lines[len(lines)-1]) == "ready" {
			return nil
		}
		select {
		case <-p.gone:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-poll.C:
		}
	}
}

func (p *process) alive() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// end signals the postmaster and waits until all its processes are gone. SIGCONT makes a
// stopped process take the signal.
func (p *process) end(sig syscall.Signal) error {
	if !p.alive() {
		return nil
	}
	_ = syscall.Kill(p.pid, sig)
	_ = syscall.Kill(p.pid, syscall.SIGCONT)
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-p.gone:
		return nil
	case <-timer.C:
	}
	_ = syscall.Kill(p.pid, syscall.SIGKILL)
	<-p.gone // at most stragglers later
	if sig == syscall.SIGKILL {
		return nil
	}
	return fmt.Errorf("the server ignored %v for %v and was killed", sig, stopPatience)
}
