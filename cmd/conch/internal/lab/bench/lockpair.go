//go:build unix

package bench

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgraw"
	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/fleet"
)

// Held is reported by a holder that has the lock.
const Held = "held"

// lockPair is a process that holds the plain lock and a session of ours that waits for it. It is
// the ceiling for faults of a leader.
type lockPair struct {
	process *fleet.Process
	waiter  *pgraw.Locker
	got     chan outcome
}

type outcome struct {
	at  fence.Instant
	err error
}

// startLockPair starts a holder, with a lease by the server's clock unless lease is 0, and a waiter,
// and returns when the waiter waits. The URL is that of the holder's line.
func startLockPair(ctx context.Context, cfg Config, s *site, launcher *fleet.Launcher, url string, lease time.Duration) (*lockPair, error) {
	p := &lockPair{got: make(chan outcome, 1)}
	held := make(chan struct{})
	var err error
	args := []string{HolderCommand, "--lease", lease.String()}
	p.process, err = launcher.Launch(fleet.Command{Program: cfg.Program, Args: args, Env: []string{"CONCH_DB_URL=" + url}, Tell: func(n fleet.News) {
		if r, is := worker.Read(n.Line); is && r.Kind == Held {
			close(held)
		}
	}})
	if err != nil {
		return nil, err
	}
	select {
	case <-held:
	case <-p.process.Over():
		return nil, fmt.Errorf("the holder of a plain lock ended: %s", p.process.LastWords())
	case <-ctx.Done():
		p.end()
		return nil, context.Cause(ctx)
	}
	if p.waiter, err = pgraw.OpenLocker(ctx, s.url); err != nil {
		p.end()
		return nil, err
	}
	go func() {
		ctx, cancel := context.WithTimeoutCause(ctx, patience, errNever)
		defer cancel()
		at, err := p.waiter.Lock(ctx)
		p.got <- outcome{at, err}
	}()
	err = until(ctx, "the plain lock is waited for", func() (bool, error) {
		n, err := s.admin.RawWaiters(ctx)
		return n > 0, err
	})
	if err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

func (p *lockPair) kill() (time.Duration, error) {
	at := fence.Boottime()
	p.process.Signal(syscall.SIGKILL)
	return p.since(at)
}

// since waits for the waiter and returns how long after the instant it had the lock.
func (p *lockPair) since(at fence.Instant) (time.Duration, error) {
	o := <-p.got
	p.got <- o
	return o.at.Sub(at), o.err
}

func (p *lockPair) end() {
	p.process.End(0)
	if p.waiter != nil {
		<-p.got // killing the holder gives it the lock, at the latest
		p.waiter.Close()
	}
}

// unlocked measures a clean handover of the plain lock between two sessions: from an unlock until a
// blocked waiter has the lock, and from a notification until a session that only tries has it.
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
		n, err := s.admin.RawWaiters(ctx)
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

	go func() { // now b holds it, and a waits for a notification
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
