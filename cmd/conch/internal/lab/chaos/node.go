//go:build unix

package chaos

import (
	"slices"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/demo"
	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// Node is one machine: a node, perhaps a conch run and a conch node with a page, and their line to the database.
type Node struct {
	ID      string
	Proxy   *tcpproxy.Proxy
	Spare   *tcpproxy.Proxy // a second address, silent except in one fault
	cluster *Cluster
	work    life
	run     life
	page    life

	worker.Seen // of its node, under the cluster's lock
}

// life is one of a machine's processes. Its fields are under the cluster's lock.
type life struct {
	process *fleet.Process
	alive   bool
	wanted  bool // it should run: its end is a death
	born    fence.Instant
	died    fence.Instant
	at      string // where it serves its page; empty: it has none
}

// death is an unexpected end of a process.
type death struct {
	node  string
	run   bool
	page  bool
	at    fence.Instant
	lived time.Duration
	code  int // exit code; -1 after a signal
	words string
}

// gone reports whether no process of the machine runs. The caller holds the cluster's lock.
func (n *Node) gone() bool { return !n.work.alive && !n.run.alive && !n.page.alive }

// lives are all that a machine may have.
func (n *Node) lives() []*life { return []*life{&n.work, &n.run, &n.page} }

const (
	// actMost is the maximum for an act that the gates are told. It is so short that a leader's last
	// acts come right before its deadline, and a door that stays open too long shows.
	actMost = 5 * time.Millisecond
	// stopGrace is how long a child that ignores SIGTERM delays the end of its conch run. When a
	// lease of one second is lost less is left of it, so the deadline kills the child.
	stopGrace = time.Second
)

// Start starts the machine's processes that do not run.
func (n *Node) Start() error {
	cfg := n.cluster.cfg
	err := n.launch(cfg.Program, &n.work, n.hear, demo.NodeCommand, "--id", n.ID, "--scope", Scope,
		"--lease", cfg.Lease.String(), "--takeover", string(cfg.Takeover), "--dir", cfg.Dir, "--outside-most", actMost.String())
	if err != nil || !cfg.Children {
		return err
	}
	if cfg.Pages {
		args, err := n.servesPage()
		if err != nil {
			return err
		}
		if err := n.launch(cfg.Conch, &n.page, func(fleet.News) {}, args...); err != nil {
			return err
		}
	}
	return n.launch(cfg.Conch, &n.run, func(fleet.News) {}, "run", "--id", n.ID, "--scope", RunScope,
		"--lease", cfg.Lease.String(), "--takeover", string(cfg.Takeover), "--restart", "--stop-grace", stopGrace.String(),
		"--", cfg.Program, ChildCommand, "--dir", cfg.Dir)
}

func (n *Node) launch(program string, l *life, hear func(fleet.News), args ...string) error {
	c := n.cluster
	url := "postgres://" + postmaster.Superuser + "@" + n.Proxy.Addr() + "," + n.Spare.Addr() + "/postgres?sslmode=disable&target_session_attrs=read-write"
	c.mu.Lock()
	if l.alive {
		c.mu.Unlock()
		return nil
	}
	l.alive, l.wanted, l.born = true, true, fence.Boottime()
	c.mu.Unlock()
	p, err := c.launch(url, program, args, func(news fleet.News) {
		c.mu.Tell(func() {
			hear(news)
			if news.Ended {
				n.recordEnd(l, news.From)
			}
		})
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		l.alive, l.wanted = false, false
		return err
	}
	l.process = p
	return nil
}

// recordEnd records the end of a process. The caller holds the cluster's lock.
func (n *Node) recordEnd(l *life, p *fleet.Process) {
	l.alive, l.died = false, fence.Boottime()
	if l.wanted {
		n.cluster.deaths = append(n.cluster.deaths, death{
			node: n.ID, run: l == &n.run, page: l == &n.page, at: l.died, lived: l.died.Sub(l.born), code: p.Code(), words: p.LastWords(),
		})
	}
}

// hear handles news of the node. The caller holds the cluster's lock.
func (n *Node) hear(news fleet.News) {
	r, is := worker.Read(news.Line)
	switch {
	case news.Ended:
		n.Seen = worker.Seen{Pulse: n.Pulse}
	case is:
		n.Hear(r)
	}
}

// Signal sends a signal to the machine's processes.
func (n *Node) Signal(sig syscall.Signal) {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	for _, l := range n.lives() {
		if l.process != nil && l.alive {
			l.process.Signal(sig)
		}
	}
}

// expectEnd makes the end of the machine's processes no death.
func (n *Node) expectEnd() {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	for _, l := range n.lives() {
		l.wanted = false
	}
}

// reviveAfter is the pause before a process is started again.
const reviveAfter = 300 * time.Millisecond

// revive restarts processes that ended unexpectedly, as a service manager would.
func (c *Cluster) revive() error {
	for _, n := range c.Nodes {
		c.mu.Lock()
		now := fence.Boottime()
		due := slices.ContainsFunc(n.lives(), func(l *life) bool {
			return !l.alive && l.wanted && now.Sub(l.died) > reviveAfter
		})
		c.mu.Unlock()
		if due {
			if err := n.Start(); err != nil {
				return err
			}
		}
	}
	return nil
}
