//go:build unix

package bench

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgraw"
	"github.com/conchhq/conch/fence"
)

// Held is what a holder reports once the lock is its own.
const Held = "held"

// vigil is a process that holds the plain lock and a session of ours that waits
// for it: the ceiling of whatever happens to a leader.
type vigil struct {
	process *fleet.Process
	waiter  *pgraw.Locker
	gone    chan struct{}
	got     chan outcome
}

type outcome struct {
	at  fence.Instant
	err error
}

// watch starts a holder, with a lease by the server's clock unless it is 0, and a
// waiter that waits by the time this returns. The URL is the holder's own line.
func watch(ctx context.Context, cfg Config, s *site, launcher *fleet.Launcher, url string, lease time.Duration) (*vigil, error) {
	v := &vigil{gone: make(chan struct{}), got: make(chan outcome, 1)}
	held := make(chan struct{})
	var err error
	args := []string{HolderCommand, "--lease", lease.String()}
	v.process, err = launcher.Launch(cfg.Program, args, []string{"CONCH_DB_URL=" + url}, func(n fleet.News) {
		switch {
		case n.Ended:
			close(v.gone)
		case n.Report.Kind == Held:
			close(held)
		}
	})
	if err != nil {
		return nil, err
	}
	select {
	case <-held:
	case <-v.gone:
		return nil, fmt.Errorf("the holder of a plain lock ended: %s", v.process.LastWords())
	case <-ctx.Done():
		v.end()
		return nil, context.Cause(ctx)
	}
	if v.waiter, err = pgraw.OpenLocker(ctx, s.url); err != nil {
		v.end()
		return nil, err
	}
	go func() {
		ctx, cancel := context.WithTimeoutCause(ctx, patience, errNever)
		defer cancel()
		at, err := v.waiter.Lock(ctx)
		v.got <- outcome{at, err}
	}()
	err = until(ctx, "the plain lock is waited for", func() (bool, error) {
		n, err := s.desk.RawWaiters(ctx)
		return n > 0, err
	})
	if err != nil {
		v.end()
		return nil, err
	}
	return v, nil
}

// kill is SIGKILL until the waiter has the lock.
func (v *vigil) kill() (time.Duration, error) {
	at := fence.Boottime()
	v.process.Signal(syscall.SIGKILL)
	return v.since(at)
}

// since waits for the waiter and says how long after the instant it had the lock.
func (v *vigil) since(at fence.Instant) (time.Duration, error) {
	o := <-v.got
	v.got <- o
	return o.at.Sub(at), o.err
}

// end leaves nothing of it.
func (v *vigil) end() {
	v.process.Signal(syscall.SIGKILL)
	v.process.CloseStdin()
	<-v.gone
	if v.waiter != nil {
		<-v.got // killing the holder gives it the lock, at the latest
		v.waiter.Close()
	}
}

// unlocked measures one clean handover of the plain lock between two sessions: an
// unlock until a blocked waiter has it, and a notification until somebody who
// only tries has it.
func unlocked(ctx context.Context, a, b *pgraw.Locker, s *site) (blocked, noticed time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errNever)
	defer cancel()
	if _, err := a.Lock(ctx); err != nil {
		return 0, 0, err
	}
	got := make(chan outcome, 1)
	go func() {
		at, err := b.Lock(ctx)
		got <- outcome{at, err}
	}()
	err = until(ctx, "the plain lock is waited for", func() (bool, error) {
		n, err := s.desk.RawWaiters(ctx)
		return n > 0, err
	})
	if err != nil {
		return 0, 0, err
	}
	at := fence.Boottime()
	if err := a.Unlock(ctx); err != nil {
		return 0, 0, err
	}
	o := <-got
	if o.err != nil {
		return 0, 0, o.err
	}
	blocked = o.at.Sub(at)

	go func() { // now b holds it, and a waits for a notice
		at, err := a.LockOnNotice(ctx)
		got <- outcome{at, err}
	}()
	at = fence.Boottime()
	if err := b.Announce(ctx); err != nil {
		return 0, 0, err
	}
	if o = <-got; o.err != nil {
		return 0, 0, o.err
	}
	return blocked, o.at.Sub(at), a.Unlock(ctx)
}
