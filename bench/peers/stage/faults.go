//go:build linux

package stage

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

const (
	settling = 500 * time.Millisecond // for everybody to take their places
	farewell = 2 * time.Second        // for whoever was asked to end
	attempts = 5                      // to find the same leader before a fault and after the wait for its moment
)

// strike does it to whoever leads, at a moment of its own in the part's rhythm. A leader
// that was replaced while that moment was awaited is not struck: the real one would be
// taken for its successor. It is told of, since it says something of the peer, or of a
// machine that is too busy to measure on.
func (t *trial) strike(ctx context.Context, i int, do func(*member)) (*member, fence.Instant, error) {
	for range attempts {
		if err := pass(ctx, settling); err != nil {
			return nil, 0, err
		}
		m, err := t.leader(ctx)
		if err != nil {
			return nil, 0, err
		}
		if err := pass(ctx, t.part.strikeAfter(i)); err != nil {
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
	return nil, 0, fmt.Errorf("%d times whoever led did not lead any more %s later, and nothing had been done to it", attempts, t.part.strikeAfter(i))
}

// anew ends whoever was struck, whatever it believes now, and starts it again.
func (t *trial) anew(ctx context.Context, m *member, i int) error {
	m.process.end()
	if err := pass(ctx, t.part.anewAfter(i)); err != nil {
		return err
	}
	if err := t.start(m); err != nil {
		return err
	}
	t.struck = nil
	return nil
}

// kills: SIGKILL until somebody else acts.
func (t *trial) kills(ctx context.Context) error {
	ends, _ := t.part.times(t.cfg.Quick)
	for i := range ends {
		m, at, err := t.strike(ctx, i, func(m *member) { m.process.end() })
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

// handoffs: SIGTERM, from the last act of the one to the first of the other. Whoever was
// asked to end may take its time: what it does then is seen.
func (t *trial) handoffs(ctx context.Context) error {
	ends, _ := t.part.times(t.cfg.Quick)
	for i := range ends {
		m, at, err := t.strike(ctx, i, func(m *member) { m.process.signal(syscall.SIGTERM) })
		if err != nil {
			return err
		}
		first, found, err := t.successor(ctx, m, at)
		if err != nil {
			return err
		}
		if err := m.process.wait(ctx, farewell); err != nil {
			return err
		}
		m.process.end()
		if err := t.seen.read(); err != nil {
			return err
		}
		t.seen.handover(&t.result, m.id, at, first, found)
		if err := t.anew(ctx, m, i); err != nil {
			return err
		}
	}
	return nil
}

// stops: SIGSTOP until somebody else acts, then SIGCONT.
func (t *trial) stops(ctx context.Context) error {
	return t.faults(ctx, &t.result.Stop, &t.result.StopZombies,
		func(m *member) { m.process.signal(syscall.SIGSTOP) },
		func(m *member) { m.process.signal(syscall.SIGCONT) })
}

// silences: the line to the store passes nothing on, either way, and heals after
// somebody else acts.
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
		if err := pass(ctx, time.Second); err != nil { // acts under a silent line
			return err
		}
		heal(m)
		if err := pass(ctx, 2*time.Second); err != nil { // and after it
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
