//go:build unix

package chaos

import (
	"bytes"
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/conchhq/conch/internal/pause"
)

// unread stops the reader of the log of each conch run, fills the pipes, and ends the session of the one that leads: what
// it has to log waits for nobody, and it campaigns again before anybody reads.
func unread(ctx context.Context, n *nemesis, in *Injection) error {
	for _, m := range n.Nodes {
		n.mu.Lock()
		run := m.run.process
		n.mu.Unlock()
		again := run.Unread()
		defer again()
		if in.Missed = !fill(ctx, run.PID()); in.Missed {
			return nil
		}
	}
	if err := depose(ctx, n, in); err != nil || in.Missed {
		return err
	}
	n.asked = time.Time{}
	n.wait(ctx, time.Now().Add(n.cfg.Lease), func() bool { return n.campaigning() < len(n.Nodes) })
	if !n.until(ctx, func() bool { return n.campaigning() == len(n.Nodes) }) {
		return &stuckError{fmt.Sprintf("%d of %d machines campaign while nobody reads their logs", n.running, len(n.Nodes))}
	}
	return nil
}

// fill fills the pipe from a process's stderr. It reports whether there is one, and a system that shows it.
func fill(ctx context.Context, pid int) bool {
	pipe, err := syscall.Open(fmt.Sprintf("/proc/%d/fd/2", pid), syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = syscall.Close(pipe) }()
	for range 3 { // the reader takes something once more
		for err == nil {
			_, err = syscall.Write(pipe, bytes.Repeat([]byte("\n"), 4096))
		}
		err = pause.For(ctx, tick)
	}
	return true
}
