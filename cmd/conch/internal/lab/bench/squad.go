//go:build unix

package bench

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgraw"
	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// nodes that compete: one leads, two wait.
const nodes = 3

const patience = 2 * time.Minute // for anything that must come

var errNever = fmt.Errorf("it has not come in %s", patience)

// squad is nodes that compete for one scope, and what they report.
type squad struct {
	cfg      Config
	site     *site
	pace     time.Duration // from one act of the leader to the next
	launcher *fleet.Launcher
	nodes    []*node
	lives    sync.WaitGroup

	mu    sync.Mutex
	heard *sync.Cond
}

// node is one process after another under one name.
type node struct {
	id      string
	proxy   *tcpproxy.Proxy // nil: straight to the server
	squad   *squad
	process *fleet.Process

	// As last reported, under the squad's lock.
	alive  bool
	epoch  int64 // of the leadership it holds, 0 if none
	acted  fence.Instant
	inside fence.Instant
}

// muster starts the nodes, each behind its own proxy if asked for.
func muster(ctx context.Context, cfg Config, s *site, proxied bool, pace time.Duration) (*squad, error) {
	q := &squad{cfg: cfg, site: s, pace: pace, launcher: fleet.NewLauncher()}
	q.heard = sync.NewCond(&q.mu)
	for i := range nodes {
		n := &node{id: fmt.Sprintf("node-%d", i+1), squad: q}
		if proxied {
			target, err := pgraw.Target(s.url)
			if err != nil {
				return q, err
			}
			if n.proxy, err = tcpproxy.New(target); err != nil {
				return q, err
			}
		}
		q.nodes = append(q.nodes, n)
		if err := n.start(); err != nil {
			return q, err
		}
	}
	if _, _, err := q.leader(ctx, 0, true); err != nil {
		return q, err
	}
	return q, q.ready(ctx)
}

func (n *node) start() error {
	q, url := n.squad, n.squad.site.url
	if n.proxy != nil {
		var err error
		if url, err = pgraw.Through(url, n.proxy.Addr()); err != nil {
			return err
		}
	}
	args := []string{
		NodeCommand, "--id", n.id, "--scope", scope, "--lease", q.cfg.Lease.String(), "--dir", q.site.dir,
		"--ledger-pace", q.pace.String(), "--outside-pace", q.pace.String(),
	}
	q.mu.Lock()
	n.alive, n.epoch, n.acted, n.inside = true, 0, 0, 0
	q.mu.Unlock()
	q.lives.Add(1)
	p, err := q.launcher.Launch(q.cfg.Program, args, []string{"CONCH_DB_URL=" + url}, n.hear)
	if err != nil {
		q.lives.Done()
		return fmt.Errorf("starting %s: %w", n.id, err)
	}
	n.process = p
	return nil
}

// Paces of a leader's acts.
const (
	// atWork is short, so that the time between the last act of one leader and the first
	// of the next is not that of its own rest.
	atWork = time.Millisecond
	// atRest is after the first act of a term, for as long as anything is measured.
	atRest = time.Hour
)

func (n *node) hear(news fleet.News) {
	q := n.squad
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.heard.Broadcast()
	if news.Ended {
		n.alive, n.epoch, n.acted, n.inside = false, 0, 0, 0
		q.lives.Done()
		return
	}
	r := news.Report
	switch r.Kind {
	case election.Acquired:
		n.epoch, n.acted, n.inside = r.Epoch, 0, 0
	case worker.Acted:
		if n.epoch == r.Epoch {
			n.acted = r.At
		}
	case election.Entered:
		if n.epoch == r.Epoch {
			n.inside = r.At
		}
	case election.Lost, election.Draining:
		n.epoch, n.acted, n.inside = 0, 0, 0
	default:
	}
}

// await waits until the condition, asked under the lock after each report, holds.
func (q *squad) await(ctx context.Context, what string, cond func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errNever)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.heard.Broadcast()
	})
	defer stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for !cond() {
		if ctx.Err() != nil {
			return fmt.Errorf("waiting until %s: %w%s", what, context.Cause(ctx), q.words())
		}
		q.heard.Wait()
	}
	return nil
}

// words are the last ones of some node, which may say why nothing happens.
func (q *squad) words() string {
	for _, n := range q.nodes {
		if n.process != nil && n.process.LastWords() != "" {
			return "; " + n.id + " says: " + n.process.LastWords()
		}
	}
	return ""
}

// leader waits for one with a higher epoch whose first row is committed, and, if
// asked for, whose act door is open.
func (q *squad) leader(ctx context.Context, above int64, inside bool) (led *node, epoch int64, err error) {
	err = q.await(ctx, fmt.Sprintf("somebody leads above epoch %d", above), func() bool {
		for _, n := range q.nodes {
			if n.epoch > above && n.acted != 0 && (n.inside != 0 || !inside) {
				led, epoch = n, n.epoch
				return true
			}
		}
		return false
	})
	return led, epoch, err
}

// still says whether a node leads in that epoch, by its last report. Whoever has lost it
// while the moment of a fault was awaited is not to be struck: its successor may have been
// elected already, and its first row would count as the fault's.
func (q *squad) still(n *node, epoch int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return n.epoch == epoch
}

// ready waits until every node but the leader waits for its end, by the server's
// word.
func (q *squad) ready(ctx context.Context) error {
	return until(ctx, "the followers wait", func() (bool, error) {
		n, err := q.site.desk.Waiters(ctx, scope)
		return n >= len(q.nodes)-1, err
	})
}

// until asks again and again, for what no figure depends on.
func until(ctx context.Context, what string, done func() (bool, error)) error {
	return every(ctx, 5*time.Millisecond, what, done)
}

// every asks at that pace.
func every(ctx context.Context, pace time.Duration, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errNever)
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

// again gives a node that has ended its next life.
func (q *squad) again(ctx context.Context, n *node) error {
	if err := q.await(ctx, n.id+" has ended", func() bool { return !n.alive }); err != nil {
		return err
	}
	n.process.CloseStdin()
	return n.start()
}

// dismiss ends all nodes and returns when none is left.
func (q *squad) dismiss() {
	for _, n := range q.nodes {
		if n.process != nil {
			n.process.Signal(syscall.SIGKILL)
			n.process.CloseStdin()
		}
	}
	q.lives.Wait()
	for _, n := range q.nodes {
		if n.proxy != nil {
			n.proxy.Close()
		}
	}
	q.nodes = nil
	q.launcher.Close()
}

// pass lets time go by.
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
