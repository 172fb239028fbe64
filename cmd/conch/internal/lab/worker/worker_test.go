package worker_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgledger"
	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		url := conn.Config().ConnString()
		if err := pgmint.Up(ctx, pgmint.Config{URL: url}, func(string) {}); err != nil {
			return err
		}
		return pgledger.Create(ctx, url)
	})
	pgtest.Main(m)
}

// lease is long enough to survive a stall of the machine: the test counts leaderships.
const lease = 3 * time.Second

const patience = 30 * time.Second

// cluster is several workers in this process, each with its own stop function.
type cluster struct {
	t       *testing.T
	db      *pgtest.DB
	dir     string
	running sync.WaitGroup
	mu      sync.Mutex
	reports []worker.Report
	wake    chan struct{}
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, db: pgtest.New(t), dir: t.TempDir(), wake: make(chan struct{}, 1)}
	t.Cleanup(c.running.Wait)
	return c
}

func (c *cluster) start(id, url string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	c.t.Cleanup(cancel)
	c.running.Go(func() {
		err := worker.Run(ctx, worker.Config{
			Scope: "work", ID: id, Lease: lease, Database: pgmint.Config{URL: url}, Dir: c.dir,
			Report: c.report,
		})
		if err != nil {
			c.t.Errorf("%s: %v", id, err)
		}
	})
	return cancel
}

func (c *cluster) report(r worker.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports = append(c.reports, r)
}

// heard waits for the nth report of a kind, from any worker.
func (c *cluster) heard(kind election.Kind, n int) worker.Report {
	c.t.Helper()
	var found worker.Report
	pgtest.Eventually(c.t, patience, fmt.Sprintf("report %d of %q", n, kind), func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		seen := 0
		for _, r := range c.reports {
			if r.Kind == kind {
				if seen++; seen == n {
					found = r
					return true
				}
			}
		}
		return false
	})
	return found
}

func (c *cluster) judge() evidence.Verdict {
	c.t.Helper()
	pgtest.Within(c.t, patience, "all nodes end", c.running.Wait)
	rows, err := pgledger.Read(context.Background(), c.db.URL)
	if err != nil {
		c.t.Fatal(err)
	}
	acks, err := evidence.ReadAcks(c.dir)
	if err != nil {
		c.t.Fatal(err)
	}
	acts, err := evidence.ReadActs(evidence.OutsideFile(c.dir))
	if err != nil {
		c.t.Fatal(err)
	}
	if len(acts) == 0 || len(acks) == 0 {
		c.t.Errorf("got %d acts and %d acknowledged rows, want some of each", len(acts), len(acks))
	}
	return evidence.Judge(evidence.Record{Ledger: rows, Acks: acks, Outside: acts})
}

func TestTwoNodesTakeTurns(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	stops := map[string]func(){"a": c.start("a", c.db.URL), "b": c.start("b", c.db.URL)}
	c.heard(worker.Acted, 1)
	first := c.heard(election.Entered, 1)
	stops[first.Node]()
	second := c.heard(worker.Acted, 2)
	if second.Node == first.Node {
		t.Fatalf("%s took over from itself", first.Node)
	}
	c.heard(election.Entered, 2)
	c.heard(worker.Pulse, 3)
	stops[second.Node]()
	v := c.judge()
	if err := v.Fault(false); err != nil {
		t.Error(err)
	}
	if v.Leaders != 2 {
		t.Errorf("%d leaders acted, want 2", v.Leaders)
	}
}

// The connections of a worker break over and over: it may not know the outcome of a row, and
// must neither repeat nor lose one.
func TestBrokenConnectionsLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	proxy, url := c.db.Proxy(t)
	stop := c.start("a", url)
	for n := range 4 {
		c.heard(worker.Acted, n+1)
		proxy.Reset()
	}
	c.heard(worker.Acted, 5)
	c.heard(election.Entered, 2)
	stop()
	if err := c.judge().Fault(false); err != nil {
		t.Error(err)
	}
}

func TestAStuckReaderCostsNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	stuck := make(chan struct{})
	var said atomic.Int64
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.running.Go(func() {
		err := worker.Run(ctx, worker.Config{
			Scope: "work", ID: "a", Lease: lease, Database: pgmint.Config{URL: c.db.URL}, Dir: c.dir,
			Report: func(worker.Report) { said.Add(1); <-stuck },
		})
		if err != nil {
			t.Error(err)
		}
	})
	pgtest.Eventually(t, patience, "acts for longer than a lease, although nobody reads the reports", func() bool {
		acts, _ := evidence.ReadActs(evidence.OutsideFile(c.dir))
		return len(acts) > 1 && acts[len(acts)-1].End.Sub(acts[0].Start) > lease+lease/2
	})
	if said.Load() != 1 {
		t.Errorf("%d reports came through a stuck reader, want 1", said.Load())
	}
	close(stuck)
	cancel()
	if v := c.judge(); v.Leaders != 1 || v.Fault(false) != nil {
		t.Errorf("%d leaders acted, fault %v; want 1 and none", v.Leaders, v.Fault(false))
	}
}

func TestConfigNamesEveryFault(t *testing.T) {
	t.Parallel()
	err := worker.Run(t.Context(), worker.Config{ID: "a:b"})
	for _, part := range []string{"scope is empty", "contains ':'", "Dir is missing"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v does not say %q", err, part)
		}
	}
}
