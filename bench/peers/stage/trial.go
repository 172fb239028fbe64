//go:build linux

package stage

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// trial is one part on stage.
type trial struct {
	cfg     Config
	part    part
	dir     string
	store   *store
	members []*member
	seen    evidence
	result  Result
	server  *process // etcd's own
}

// member is one candidate, in one life after another.
type member struct {
	id      string
	proxy   *tcpproxy.Proxy
	process *process
}

// run does everything to one part's candidates.
func (t *trial) run(ctx context.Context) error {
	defer t.clear()
	for i := range members {
		proxy, err := tcpproxy.New(t.store.target)
		if err != nil {
			return err
		}
		m := &member{id: fmt.Sprintf("node-%d", i+1), proxy: proxy}
		t.members = append(t.members, m)
		if err := t.start(m); err != nil {
			return err
		}
	}
	t.result.Peer, t.result.Variant, t.result.How = t.part.peer, t.part.variant, t.part.how
	for _, step := range []func(context.Context) error{t.rest, t.kills, t.handoffs, t.stops, t.silences, t.judge} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%s: %w", t.part.name(), err)
		}
	}
	return nil
}

func (t *trial) clear() {
	for _, m := range t.members {
		if m.process != nil {
			m.process.end()
		}
		m.proxy.Close()
	}
	if t.server != nil {
		t.server.end()
	}
}

func (t *trial) start(m *member) error {
	program, args := t.part.command(t.cfg.Self, t.cfg.Conch, t.dir, m.id)
	var err error
	m.process, err = launch(program, args, []string{"CONCH_DB_URL=" + t.store.through(m.proxy.Addr())})
	return err
}

// await reads the evidence until the condition holds, false if it does not in
// time.
func (t *trial) await(ctx context.Context, most time.Duration, cond func() bool) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := t.seen.read(); err != nil {
			return false, err
		}
		if cond() {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-tick.C:
		}
	}
}

// leader waits until somebody has been acting for a while and nobody else has.
func (t *trial) leader(ctx context.Context) (*member, error) {
	var led *member
	ok, err := t.await(ctx, t.cfg.Patience, func() bool {
		last := t.seen.last()
		if fence.Boottime().Sub(last.End) > 200*time.Millisecond {
			return false
		}
		for _, m := range t.members {
			if m.id == last.Node {
				led = m
			}
		}
		return true
	})
	if err == nil && !ok {
		err = fmt.Errorf("nobody acts within %s", t.cfg.Patience)
	}
	return led, err
}

// settle lets everybody take their places and half a second pass.
func (t *trial) settle(ctx context.Context) (*member, error) {
	if err := pass(ctx, 500*time.Millisecond); err != nil {
		return nil, err
	}
	return t.leader(ctx)
}

// rest counts what three candidates ask while nothing happens, and what the one
// that leads keeps in memory.
func (t *trial) rest(ctx context.Context) error {
	if _, err := t.leader(ctx); err != nil {
		return err
	}
	if err := pass(ctx, 3*time.Second); err != nil {
		return err
	}
	began := time.Now()
	before, err := t.store.asked(ctx)
	if err != nil {
		return err
	}
	if err := pass(ctx, t.cfg.Rest); err != nil {
		return err
	}
	after, err := t.store.asked(ctx)
	if err != nil {
		return err
	}
	if !t.part.acks { // that one writes rows all the time, and is the same program
		t.result.Rest = number((after - before) / time.Since(began).Seconds())
	}
	m, err := t.leader(ctx)
	if err != nil {
		return err
	}
	memory, err := m.process.memory()
	t.result.Memory = number(memory)
	if err == nil && t.server != nil {
		memory, err = t.server.memory()
		t.result.ServerMemory = number(memory)
	}
	return err
}

// kills: SIGKILL until somebody else acts.
func (t *trial) kills(ctx context.Context) error {
	for i := range t.cfg.times(t.part) {
		m, err := t.settle(ctx)
		if err != nil {
			return err
		}
		if err := pass(ctx, time.Duration(i)*137*time.Millisecond%time.Second); err != nil {
			return err
		}
		at := fence.Boottime()
		m.process.end()
		first, found, err := t.successor(ctx, m, at)
		if err != nil {
			return err
		}
		t.result.Kill.add(first.Sub(at), found)
		if err := t.start(m); err != nil {
			return err
		}
	}
	return nil
}

// successor waits for the first act of anybody else.
func (t *trial) successor(ctx context.Context, m *member, after fence.Instant) (first fence.Instant, found bool, err error) {
	found, err = t.await(ctx, t.cfg.Patience, func() bool {
		a, ok := t.seen.firstOther(m.id, after)
		first = a.Start
		return ok
	})
	if err == nil {
		err = context.Cause(ctx)
	}
	return first, found, err
}

// handoffs: SIGTERM, from the last act of the one to the first of the other.
func (t *trial) handoffs(ctx context.Context) error {
	for range t.cfg.times(t.part) {
		m, err := t.settle(ctx)
		if err != nil {
			return err
		}
		at := fence.Boottime()
		m.process.signal(syscall.SIGTERM)
		first, found, err := t.successor(ctx, m, at)
		if err != nil {
			return err
		}
		t.result.Handoff.add(first.Sub(t.seen.lastBefore(m.id, max(first, at))), found)
		m.process.end()
		if err := t.start(m); err != nil {
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
	for range max(t.cfg.times(t.part)/2, 1) {
		m, err := t.settle(ctx)
		if err != nil {
			return err
		}
		at := fence.Boottime()
		strike(m)
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
			zombies.Faults++
			if n := t.seen.zombies(m.id, first, fence.Boottime()); n > 0 {
				zombies.Writes += n
				zombies.In++
			}
		}
		// Whatever it believes now, it begins anew.
		m.process.end()
		if err := t.start(m); err != nil {
			return err
		}
	}
	return nil
}

// judge reads from the ledger what the fence let pass: an acknowledgement that was
// written down late is not a late write.
func (t *trial) judge(ctx context.Context) error {
	if !t.part.acks {
		return nil
	}
	n, err := t.store.stale(ctx)
	t.result.StopZombies.Writes, t.result.SilenceZombies.Writes = n, n
	t.result.StopZombies.In, t.result.SilenceZombies.In = min(n, 1), min(n, 1)
	return err
}

func (t *trial) prepare(dir string) {
	t.dir = dir
	t.seen = evidence{dir: dir, acks: t.part.acks, offset: map[string]int64{}}
}

// etcdDir is where its server keeps its data.
func (t *trial) etcdDir() string { return filepath.Join(t.dir, "etcd") }

func pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
