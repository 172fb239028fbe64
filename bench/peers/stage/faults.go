//go:build linux

package stage

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

const (
	settling = 500 * time.Millisecond // until all members have settled
	endGrace = 2 * time.Second        // for a member that was asked to end
	attempts = 5                      // to find the same leader before and after the wait for the moment of a fault
)

// strike injects a fault into the leader at the part's next moment. A leader that was replaced during
// the wait is not struck, since the real leader would pass for its successor. Such a replacement is
// printed: it says something about the peer, or about a machine that is too busy to measure on.
func (t *trial) strike(ctx context.Context, i int, do func(*member)) (*member, fence.Instant, error) {
	for range attempts {
		if err := pause.For(ctx, settling); err != nil {
			return nil, 0, err
		}
		m, err := t.leader(ctx)
		if err != nil {
			return nil, 0, err
		}
		if err := pause.For(ctx, t.part.strikeAfter(i)); err != nil {
			return nil, 0, err
		}
		if err := errors.Join(t.seen.read(), t.alive()); err != nil {
			return nil, 0, err
		}
		if t.leads() != m {
			t.cfg.Say("%s: %s led, and %s later it was not seen to any more, though nothing had been done to it",
				t.part.name(), m.id, t.part.strikeAfter(i))
			continue
		}
		t.struck = m
		at := fence.Boottime()
		do(m)
		return m, at, nil
	}
	return nil, 0, fmt.Errorf("%d times the leader was not leading %s later, although nothing had been done to it", attempts, t.part.strikeAfter(i))
}

// anew kills a struck member and starts it again.
func (t *trial) anew(ctx context.Context, m *member, i int) error {
	m.process.End(0)
	if err := pause.For(ctx, t.part.anewAfter(i)); err != nil {
		return err
	}
	if err := t.start(m); err != nil {
		return err
	}
	t.struck = nil
	return nil
}

// kills measures from SIGKILL until another member acts.
func (t *trial) kills(ctx context.Context) error {
	ends, _ := t.part.times(t.cfg.Quick)
	for i := range ends {
		m, at, err := t.strike(ctx, i, func(m *member) { m.process.End(0) })
		if err != nil {
			return err
		}
		first, found, err := t.successor(ctx, m, at)
		if err != nil {
			return err
		}
		t.result.Kill.add(first.Sub(at), found)
		if err := t.anew(ctx, m, i); err != nil {
			return err
		}
	}
	return nil
}

// handoffs measures, after SIGTERM, from the last act of the old leader to the first of the new one. The
// old leader gets time to end, and its acts in that time are counted.
func (t *trial) handoffs(ctx context.Context) error {
	ends, _ := t.part.times(t.cfg.Quick)
	for i := range ends {
		m, at, err := t.strike(ctx, i, func(m *member) { m.process.Signal(syscall.SIGTERM) })
		if err != nil {
			return err
		}
		first, found, err := t.successor(ctx, m, at)
		if err != nil {
			return err
		}
		grace, cancel := context.WithTimeout(ctx, endGrace)
		_ = m.process.Wait(grace)
		cancel()
		m.process.End(0)
		if err := errors.Join(context.Cause(ctx), t.seen.read()); err != nil {
			return err
		}
		t.seen.handover(&t.result, m.id, at, first, found)
		if err := t.anew(ctx, m, i); err != nil {
			return err
		}
	}
	return nil
}

// stops measures from SIGSTOP until another member acts, and then sends SIGCONT.
func (t *trial) stops(ctx context.Context) error {
	return t.faults(ctx, &t.result.Stop, &t.result.StopZombies,
		func(m *member) { m.process.Signal(syscall.SIGSTOP) },
		func(m *member) { m.process.Signal(syscall.SIGCONT) })
}

// silences measures from the silence of the leader's line, both ways, until another member acts, and
// then heals the line.
func (t *trial) silences(ctx context.Context) error {
	return t.faults(ctx, &t.result.Silence, &t.result.SilenceZombies,
		func(m *member) { m.proxy.Blackhole(tcpproxy.Both) },
		func(m *member) { m.proxy.Heal() })
}

func (t *trial) faults(ctx context.Context, times *Times, zombies *Zombies, strike, heal func(*member)) error {
	_, stalls := t.part.times(t.cfg.Quick)
	for i := range stalls {
		m, at, err := t.strike(ctx, i, strike)
		if err != nil {
			return err
		}
		first, found, err := t.successor(ctx, m, at)
		if err != nil {
			return err
		}
		times.add(first.Sub(at), found)
		if err := pause.For(ctx, time.Second); err != nil { // for acts during the fault
			return err
		}
		heal(m)
		if err := pause.For(ctx, 2*time.Second); err != nil { // for acts after it
			return err
		}
		if err := t.seen.read(); err != nil {
			return err
		}
		if found {
			zombies.add(t.seen.zombies(m.id, first, fence.Boottime()))
		}
		if err := t.anew(ctx, m, i); err != nil {
			return err
		}
	}
	return nil
}
