//go:build linux

package stage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// trial runs one part.
type trial struct {
	cfg     Config
	part    part
	dir     string
	store   *store
	members []*member
	struck  *member // ended by us, until it is started again
	seen    evidence
	result  Result
	server  *fleet.Process // of etcd
}

// member is one candidate with all its processes.
type member struct {
	id      string
	proxy   *tcpproxy.Proxy
	process *fleet.Process
}

func (t *trial) prepare(dir string) {
	t.dir = dir
	t.seen = evidence{dir: dir, acks: t.part.acks}
}

func (t *trial) etcdDir() string { return filepath.Join(t.dir, "etcd") }

// run injects all faults.
func (t *trial) run(ctx context.Context) error {
	defer t.clear()
	if err := t.begin(); err != nil {
		return err
	}
	t.result.Peer, t.result.Variant, t.result.How = t.part.peer, t.part.variant, t.part.how
	if t.part.why != "" {
		t.result.How += "; " + t.part.why
	}
	for _, step := range []func(context.Context) error{t.rest, t.kills, t.handoffs, t.stops, t.silences, t.judge} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%s: %w", t.part.name(), err)
		}
	}
	return nil
}

func (t *trial) begin() error {
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
	return nil
}

func (t *trial) clear() {
	for _, m := range t.members {
		if m.process != nil {
			m.process.End(0)
		}
		m.proxy.Close()
	}
	if t.server != nil {
		t.server.End(0)
	}
}

func (t *trial) start(m *member) error {
	program, args := t.part.command(t.cfg.Self, t.cfg.Conch, t.dir, m.id)
	var err error
	m.process, err = t.cfg.launcher.Launch(fleet.Command{Program: program, Args: args, Env: []string{"CONCH_DB_URL=" + t.store.through(m.proxy.Addr())}})
	return err
}

// alive returns an error if a candidate or its server ended that the trial did not end: the rest would
// pass for the behaviour of the peer.
func (t *trial) alive() error {
	var faults []error
	for _, m := range t.members {
		if !m.process.Alive() && m != t.struck {
			faults = append(faults, fmt.Errorf("%s ended by itself and says: %s", m.id, m.process.LastWords()))
		}
	}
	if t.server != nil && !t.server.Alive() {
		faults = append(faults, fmt.Errorf("the server of etcd ended and says: %s", t.server.LastWords()))
	}
	return errors.Join(faults...)
}

// await reads the evidence until the condition holds, or returns false after the given time.
func (t *trial) await(ctx context.Context, most time.Duration, cond func() bool) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := errors.Join(t.seen.read(), t.alive()); err != nil {
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

// leads returns the member that has acted for a while, if no other has, or nil.
func (t *trial) leads() *member {
	node := t.seen.leading(fence.Boottime())
	for _, m := range t.members {
		if m.id == node {
			return m
		}
	}
	return nil
}

func (t *trial) leader(ctx context.Context) (*member, error) {
	var led *member
	ok, err := t.await(ctx, t.cfg.Patience, func() bool { led = t.leads(); return led != nil })
	if err == nil && !ok {
		err = errors.Join(context.Cause(ctx), fmt.Errorf("nobody acts, or several do, for %s", t.cfg.Patience))
	}
	return led, err
}

// successor waits for the first act of another member.
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
