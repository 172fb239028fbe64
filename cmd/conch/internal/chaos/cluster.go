//go:build unix

package chaos

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/demo"
	"github.com/conchhq/conch/cmd/conch/internal/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/fleet"
	"github.com/conchhq/conch/cmd/conch/internal/pgledger"
	"github.com/conchhq/conch/cmd/conch/internal/worker"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// Scope is what the nodes of a cluster compete for.
const Scope = "chaos"

// Config describes a cluster.
type Config struct {
	Program string // the conch binary
	Dir     string // for evidence
	Nodes   int
	Lease   time.Duration
	Fsync   bool // for tests that kill the server
}

// Cluster is a private server and nodes around it, each with its own proxy
// between itself and the server.
type Cluster struct {
	cfg      Config
	Server   *postmaster.Server
	URL      string // of the database, past the proxies
	launcher *fleet.Launcher
	Nodes    []*Node

	mu      sync.Mutex
	kills   []evidence.Kill
	entries []evidence.Entry
	heard   *sync.Cond // after each report
	ending  sync.WaitGroup
}

// Node is one process and its line to the database.
type Node struct {
	ID      string
	Proxy   *tcpproxy.Proxy
	cluster *Cluster
	process *fleet.Process

	// Under the cluster's lock, as last reported.
	epoch  int64
	acted  bool
	inside bool
	gone   bool
	rows   int64
	acts   int64
}

// Start brings a cluster up; the caller stops it, also after an error.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	c := &Cluster{cfg: cfg, launcher: fleet.NewLauncher()}
	c.heard = sync.NewCond(&c.mu)
	var err error
	if c.Server, err = postmaster.Start(ctx, postmaster.Config{Fsync: cfg.Fsync}); err != nil {
		return c, err
	}
	c.URL = c.Server.URL("postgres")
	if err := pgmint.Up(ctx, pgmint.Config{URL: c.URL}, func(string) {}); err != nil {
		return c, err
	}
	if err := pgledger.Create(ctx, c.URL); err != nil {
		return c, err
	}
	for i := range cfg.Nodes {
		n := &Node{ID: fmt.Sprintf("node-%d", i+1), cluster: c, gone: true}
		if n.Proxy, err = tcpproxy.New(c.Server.SocketPath()); err != nil {
			return c, err
		}
		c.Nodes = append(c.Nodes, n)
		if err := n.Start(); err != nil {
			return c, err
		}
	}
	return c, nil
}

// Start gives a node a life.
func (n *Node) Start() error {
	c := n.cluster
	args := []string{
		demo.NodeCommand, "--id", n.ID, "--scope", Scope, "--lease", c.cfg.Lease.String(), "--dir", c.cfg.Dir,
	}
	url := "postgres://" + postmaster.Superuser + "@" + n.Proxy.Addr() + "/postgres?sslmode=disable"
	c.mu.Lock()
	n.epoch, n.acted, n.inside, n.gone = 0, false, false, false
	c.mu.Unlock()
	c.ending.Add(1)
	p, err := c.launcher.Launch(c.cfg.Program, args, []string{"CONCH_DB_URL=" + url}, n.hear)
	if err != nil {
		c.ending.Done()
		return err
	}
	n.process = p
	return nil
}

func (n *Node) hear(news fleet.News) {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if news.Ended {
		n.epoch, n.acted, n.inside, n.gone = 0, false, false, true
		c.heard.Broadcast()
		c.ending.Done()
		return
	}
	r := news.Report
	switch r.Kind {
	case election.Acquired:
		n.epoch, n.acted, n.inside = r.Epoch, false, false
	case worker.Acted:
		n.acted = n.epoch == r.Epoch
	case election.Entered:
		n.inside = n.epoch == r.Epoch
		c.entries = append(c.entries, evidence.Entry{At: r.At, Epoch: r.Epoch})
	case election.Lost, election.Draining:
		n.epoch, n.acted, n.inside = 0, false, false
	case worker.Pulse:
		n.rows, n.acts = r.Rows, r.Acts
	default:
	}
	c.heard.Broadcast()
}

// Await waits until the cluster's nodes are as the condition wants them, which
// is asked under the cluster's lock after each report.
func (c *Cluster) Await(ctx context.Context, what string, cond func() bool) error {
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.heard.Broadcast()
	})
	defer stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !cond() {
		if ctx.Err() != nil {
			return fmt.Errorf("waiting until %s: %w; nodes: %s", what, context.Cause(ctx), c.describe())
		}
		c.heard.Wait()
	}
	return nil
}

func (c *Cluster) describe() (s string) {
	for _, n := range c.Nodes {
		s += fmt.Sprintf("%s{epoch %d acted %v inside %v gone %v} ", n.ID, n.epoch, n.acted, n.inside, n.gone)
	}
	return s
}

// Leader waits for a node that leads with an epoch above the given one and works
// behind the fenced door, and behind the act door too if inside is asked for.
func (c *Cluster) Leader(ctx context.Context, above int64, inside bool) (leader *Node, epoch int64, err error) {
	err = c.Await(ctx, fmt.Sprintf("somebody leads above epoch %d", above), func() bool {
		for _, n := range c.Nodes {
			if n.epoch > above && n.acted && (n.inside || !inside) {
				leader, epoch = n, n.epoch
				return true
			}
		}
		return false
	})
	return leader, epoch, err
}

// Fault notes that from now on this leader is out of order, so that the time to
// the next one counts as a failover.
func (c *Cluster) Fault(n *Node, epoch int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kills = append(c.kills, evidence.Kill{At: fence.Boottime(), Node: n.ID, Epoch: epoch})
}

// Signal sends the node a signal.
func (n *Node) Signal(sig syscall.Signal) { n.process.Signal(sig) }

// Stop ends everything; it may be called twice.
func (c *Cluster) Stop() error {
	for _, n := range c.Nodes {
		if n.process != nil {
			n.Signal(syscall.SIGCONT)
			n.Signal(syscall.SIGKILL)
		}
	}
	c.ending.Wait()
	for _, n := range c.Nodes {
		n.Proxy.Close()
	}
	c.Nodes = nil
	if c.launcher != nil {
		c.launcher.Close()
		c.launcher = nil
	}
	if c.Server != nil {
		server := c.Server
		c.Server = nil
		return server.Stop()
	}
	return nil
}

// Verdict ends the nodes in order and judges what they left behind.
func (c *Cluster) Verdict(ctx context.Context) (evidence.Verdict, error) {
	for _, n := range c.Nodes {
		n.Signal(syscall.SIGCONT)
		n.Signal(syscall.SIGTERM)
	}
	err := c.Await(ctx, "all nodes have ended", func() bool {
		for _, n := range c.Nodes {
			if !n.gone {
				return false
			}
		}
		return true
	})
	if err != nil {
		return evidence.Verdict{}, err
	}
	r, err := c.collect(ctx)
	if err != nil {
		return evidence.Verdict{}, err
	}
	return evidence.Judge(r), nil
}

func (c *Cluster) collect(ctx context.Context) (r evidence.Record, err error) {
	if r.Ledger, err = pgledger.Read(ctx, c.URL); err != nil {
		return r, err
	}
	if r.Outside, err = evidence.ReadActs(evidence.OutsideFile(c.cfg.Dir)); err != nil {
		return r, err
	}
	r.Acks, err = evidence.ReadAcks(c.cfg.Dir)
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Kills, r.Entries = c.kills, c.entries
	return r, err
}
