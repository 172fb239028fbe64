//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgledger"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgrogue"
	"github.com/conchhq/conch/cmd/conch/internal/lab/skew"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// The scopes of the nodes and of their conch runs.
const (
	Scope    = "chaos"
	RunScope = "chaos-run"
)

// ClusterConfig describes a cluster.
type ClusterConfig struct {
	Program  string // of the workers
	Conch    string // the program under test; for Children and what a nemesis orders
	Dir      string // for the evidence
	Nodes    int
	Lease    time.Duration
	Takeover mint.Takeover // default strict
	Children bool          // each machine also has a conch run,
	Pages    bool          // and a conch node that serves a page
	Clock    *skew.Clock   // nil: the machine's clock
	// SmallQueue has the queue of notifications be as small as the server can have it.
	SmallQueue bool
}

// Cluster is a private server with machines around it, each behind its own proxy.
type Cluster struct {
	cfg      ClusterConfig
	Server   *postmaster.Server
	URL      string // URL of the database, without a proxy
	launcher *fleet.Launcher
	Nodes    []*Node

	mu     fleet.Heard // guards the field below, and those of nodes
	deaths []death
	ending sync.WaitGroup
}

// settings keep the server small and its lock table quickly full. While it shuts down, Postgres
// waits for the first message of each new connection, up to authentication_timeout, so a silent
// line delays the shutdown.
var settings = map[string]string{
	"authentication_timeout":    "4s",
	"max_locks_per_transaction": "16",
	"max_wal_size":              "128MB",
	"checkpoint_timeout":        "60s",
}

// Start starts a cluster. The caller stops it, also after an error.
func Start(ctx context.Context, cfg ClusterConfig) (*Cluster, error) {
	c := &Cluster{cfg: cfg, launcher: fleet.NewLauncher()}
	if c.cfg.Takeover == "" {
		c.cfg.Takeover = mint.Strict
	}
	var err error
	if c.Server, err = postmaster.Start(ctx, postmaster.Config{Fsync: true, Settings: settings, Env: cfg.Clock.Env()}); err != nil {
		return c, err
	}
	c.URL = c.Server.URL("postgres")
	if cfg.SmallQueue {
		can, err := pgrogue.ShrinkNotifications(ctx, c.URL)
		if err == nil && can {
			err = c.Server.RestartFast(ctx)
		}
		if err != nil {
			return c, err
		}
	}
	if err := pgmint.Up(ctx, pgmint.Config{URL: c.URL}, func(string) {}); err != nil {
		return c, err
	}
	if err := pgledger.Create(ctx, c.URL); err != nil {
		return c, err
	}
	for i := range cfg.Nodes {
		n := &Node{ID: fmt.Sprintf("node-%d", i+1), cluster: c}
		if n.Proxy, err = tcpproxy.New(c.Server.SocketPath()); err != nil {
			return c, err
		}
		if n.Spare, err = tcpproxy.New(c.Server.SocketPath()); err != nil {
			n.Proxy.Close()
			return c, err
		}
		n.Spare.Blackhole(tcpproxy.Both)
		c.Nodes = append(c.Nodes, n)
		if err := n.Start(); err != nil {
			return c, err
		}
	}
	return c, nil
}

// launch starts a process on the database, whose end Stop waits for. Nobody else is told if tell is nil.
func (c *Cluster) launch(url, program string, args []string, tell func(fleet.News)) (*fleet.Process, error) {
	c.ending.Add(1)
	p, err := c.launcher.Launch(fleet.Command{
		Program: program, Args: args, Env: []string{"CONCH_DB_URL=" + url},
		Tell: func(news fleet.News) {
			if tell != nil {
				tell(news)
			}
			if news.Ended {
				c.ending.Done()
			}
		},
	})
	if err != nil {
		c.ending.Done()
	}
	return p, err
}

// Await waits for a condition, which it evaluates under the cluster's lock after each report.
func (c *Cluster) Await(ctx context.Context, what string, cond func() bool) error {
	if err := c.mu.Await(ctx, cond); err != nil {
		return fmt.Errorf("waiting until %s: %w; nodes: %s", what, err, c.describe())
	}
	return nil
}

func (c *Cluster) describe() (s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.Nodes {
		s += fmt.Sprintf("%s{epoch %d acted %v inside %v gone %v} ", n.ID, n.Epoch, n.Acted != 0, n.Inside != 0, n.gone())
	}
	return s
}

// EndMachines ends all machines, in order within the patience, then by SIGKILL.
func (c *Cluster) EndMachines(patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, n := range c.Nodes {
		n.Proxy.Heal()
		n.expectEnd()
		n.Signal(syscall.SIGCONT)
		n.Signal(syscall.SIGTERM)
	}
	err := c.Await(ctx, "all machines have ended", func() bool {
		for _, n := range c.Nodes {
			if !n.gone() {
				return false
			}
		}
		return true
	})
	if err != nil {
		for _, n := range c.Nodes {
			n.Signal(syscall.SIGKILL)
		}
	}
	c.ending.Wait()
	return err
}

// Stop ends everything. It may be called twice.
func (c *Cluster) Stop() error {
	for _, n := range c.Nodes {
		n.expectEnd()
		n.Signal(syscall.SIGCONT)
		n.Signal(syscall.SIGKILL)
	}
	c.ending.Wait()
	c.sweep(lastMoment)
	for _, n := range c.Nodes {
		n.Proxy.Close()
		n.Spare.Close()
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

func (c *Cluster) collect(ctx context.Context) (r evidence.Record, err error) {
	var faults [3]error
	r.Margin = margin(c.cfg.Lease)
	r.Ledger, faults[0] = pgledger.Read(ctx, c.URL)
	r.Outside, faults[1] = evidence.ReadActs(evidence.OutsideFile(c.cfg.Dir))
	r.Acks, faults[2] = evidence.ReadAcks(c.cfg.Dir)
	return r, errors.Join(faults[:]...)
}
