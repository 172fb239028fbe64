//go:build unix

package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgraw"
	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// nodes is the number of nodes: one leads, two wait.
const nodes = 3

const patience = 2 * time.Minute // bounds each wait

var errNever = fmt.Errorf("it has not come in %s", patience)

// cluster is a set of nodes that compete for one scope.
type cluster struct {
	cfg      Config
	site     *site
	pace     time.Duration // between acts of the leader
	launcher *fleet.Launcher
	nodes    []*node

	mu fleet.Heard // guards what nodes have reported
}

// node is one name, with one process after another.
type node struct {
	id      string
	proxy   *tcpproxy.Proxy // nil: directly to the server
	cluster *cluster
	process *fleet.Process

	alive bool // under the cluster's lock, as the next one
	worker.Seen
}

// startCluster starts the nodes, each behind its own proxy if proxied is set.
func startCluster(ctx context.Context, cfg Config, s *site, proxied bool, pace time.Duration) (*cluster, error) {
	cl := &cluster{cfg: cfg, site: s, pace: pace, launcher: fleet.NewLauncher()}
	for i := range nodes {
		n := &node{id: fmt.Sprintf("node-%d", i+1), cluster: cl}
		if proxied {
			target, err := pgraw.Target(s.url)
			if err != nil {
				return cl, err
			}
			if n.proxy, err = tcpproxy.New(target); err != nil {
				return cl, err
			}
		}
		cl.nodes = append(cl.nodes, n)
		if err := n.start(); err != nil {
			return cl, err
		}
	}
	if _, _, err := cl.leader(ctx, 0, true); err != nil {
		return cl, err
	}
	return cl, cl.ready(ctx)
}

func (n *node) start() error {
	cl, url := n.cluster, n.cluster.site.url
	if n.proxy != nil {
		var err error
		if url, err = pgraw.Through(url, n.proxy.Addr()); err != nil {
			return err
		}
	}
	args := []string{
		NodeCommand, "--id", n.id, "--scope", scope, "--lease", cl.cfg.Lease.String(), "--dir", cl.site.dir,
		"--ledger-pace", cl.pace.String(), "--outside-pace", cl.pace.String(),
	}
	cl.mu.Lock()
	n.alive, n.Seen = true, worker.Seen{}
	cl.mu.Unlock()
	p, err := cl.launcher.Launch(fleet.Command{Program: cl.cfg.Program, Args: args, Env: []string{"CONCH_DB_URL=" + url}, Tell: n.hear})
	if err != nil {
		return fmt.Errorf("starting %s: %w", n.id, err)
	}
	n.process = p
	return nil
}

// Paces of a leader's acts.
const (
	// atWork is short, so that the time between two leaders' acts is not a leader's own pause.
	atWork = time.Millisecond
	// atRest is longer than any measurement: a leader rests after the first act of its term.
	atRest = time.Hour
)

func (n *node) hear(news fleet.News) {
	n.cluster.mu.Tell(func() {
		if news.Ended {
			n.alive, n.Seen = false, worker.Seen{}
		}
		if r, is := worker.Read(news.Line); is {
			n.Hear(r)
		}
	})
}

// await waits for a condition, which it evaluates under the lock after each report.
func (cl *cluster) await(ctx context.Context, what string, cond func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errNever)
	defer cancel()
	if err := cl.mu.Await(ctx, cond); err != nil {
		return fmt.Errorf("waiting until %s: %w%s", what, err, cl.lastWords())
	}
	return nil
}

func (cl *cluster) lastWords() string {
	for _, n := range cl.nodes {
		if text := n.process.Said(n.id); text != "" {
			return text
		}
	}
	return ""
}

// leader waits for a node that leads with a higher epoch and has committed a row, and, if inside
// is set, whose act door is open.
func (cl *cluster) leader(ctx context.Context, above int64, inside bool) (led *node, epoch int64, err error) {
	err = cl.await(ctx, fmt.Sprintf("somebody leads above epoch %d", above), func() bool {
		for _, n := range cl.nodes {
			if n.Epoch > above && n.Acted != 0 && (n.Inside != 0 || !inside) {
				led, epoch = n, n.Epoch
				return true
			}
		}
		return false
	})
	return led, epoch, err
}

// still reports whether a node leads in the epoch, by its last report. A node that lost its term
// before the moment of the fault must not be struck: the first row of a successor that is already
// elected would count as the fault's.
func (cl *cluster) still(n *node, epoch int64) bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return n.Epoch == epoch
}

// ready waits until the server has every node but the leader waiting for the leader's end.
func (cl *cluster) ready(ctx context.Context) error {
	return until(ctx, "the followers wait", func() (bool, error) {
		n, err := cl.site.admin.Waiters(ctx, scope)
		return n >= len(cl.nodes)-1, err
	})
}

// until polls for something that no figure depends on.
func until(ctx context.Context, what string, done func() (bool, error)) error {
	return every(ctx, 5*time.Millisecond, what, done)
}

// every polls at the given pace.
func every(ctx context.Context, pace time.Duration, what string, done func() (bool, error)) error {
	return within(ctx, patience, pace, what, done)
}

// within polls for as long as that.
func within(ctx context.Context, most, pace time.Duration, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("it has not come in %s", most))
	defer cancel()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		if ok, err := done(); err != nil || ok {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

func (cl *cluster) again(ctx context.Context, n *node) error {
	if err := cl.await(ctx, n.id+" has ended", func() bool { return !n.alive }); err != nil {
		return err
	}
	return n.start()
}

func (cl *cluster) endAll() {
	var all []*fleet.Process
	for _, n := range cl.nodes {
		if n.process != nil {
			all = append(all, n.process)
		}
	}
	fleet.EndAll(0, all...)
	for _, n := range cl.nodes {
		if n.proxy != nil {
			n.proxy.Close()
		}
	}
	cl.nodes = nil
	cl.launcher.Close()
}
