package keeper_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// process is a conch run that goes on.
type process struct {
	*testing.T
	cmd   *exec.Cmd
	stdin io.Closer
	lines chan string
}

func begin(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{T: t, cmd: cmd, lines: make(chan string, 1000)}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for text := bufio.NewScanner(stdout); text.Scan(); {
			p.lines <- text.Text()
		}
	}()
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			sweepMarked(t)
			_ = p.wait()
		}
	})
	return p
}

// says waits for a line with that text.
func (p *process) says(text string) {
	p.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line, more := <-p.lines:
			if !more {
				p.Fatalf("it ended without saying %q", text)
			}
			if strings.Contains(line, text) {
				return
			}
		case <-timeout:
			p.Fatalf("it does not say %q", text)
		}
	}
}

func (p *process) send(sig unix.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.Fatal(err)
	}
}

// end waits for its end, demands that nothing of it is left, and returns the exit
// code.
func (p *process) end() int {
	p.Helper()
	code := p.wait()
	if pids := marked(p.T); len(pids) > 0 {
		for _, pid := range pids {
			command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			p.Errorf("process %d outlives conch, in state %s: %q", pid, state(pid), command)
		}
	}
	return code
}

// wait ends whatever does not end by itself, not conch alone: a keeper that was stopped
// and has lost its conch holds the output open for ever.
func (p *process) wait() int {
	timeout := time.AfterFunc(patience, func() { sweepMarked(p.T) })
	defer timeout.Stop()
	for line := range p.lines {
		_ = line
	}
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}
