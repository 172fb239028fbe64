package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error { return pgmint.Tables.Up(ctx, conn, nil) })
	pgtest.Main(m)
}

// shelf is a service with rows that are compacted, figures, and a place for those of all.
type shelf struct {
	node.Plain
	mu     sync.Mutex
	asked  []string // for what it was asked
	broken error    // what it cannot do
	slots  [][]node.Figure
}

// Compact has three batches of two rows.
func (s *shelf) Compact(_ context.Context, _ fence.Token, keep time.Duration, after string) (map[string]int, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprint(keep, after))
	next := map[string]string{"": "a", "a": "b", "b": ""}[after]
	return map[string]int{"books": 2}, next, s.broken
}

// Figures implements node.Measured.
func (s *shelf) Figures(context.Context) ([]node.Figure, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []node.Figure{{Name: "conch_books", Value: 2}}, s.broken
}

// Record implements node.Recorder. Each call is a slot.
func (s *shelf) Record(_ context.Context, t fence.Token, slot node.Slot, all []node.Figure) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots = append(s.slots, append(all, node.Figure{Name: fmt.Sprint(t.Scope, slot.Every, slot.Keep)}))
	return 10 * time.Millisecond, nil
}

func (s *shelf) set(broken error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

// runs runs a node with a role, beside the service, until the test ends.
func (s *shelf) runs(t *testing.T, url, role string) *nodetest.Log {
	t.Helper()
	cfg, err := configtest.Load(t, "[node]\ninstance_id = \"n1\"\nlisten = \"off\"\n[database]\nurl = \""+url+"\"\n[[roles]]\n"+role,
		config.Source{Sections: []func() config.Section{Kind().Section}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	log := new(nodetest.Log)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	beside := node.Kind{Section: func() config.Section { return configtest.Plain("books") }, Open: func(node.Frame) node.Service { return s }}
	go func() {
		ended <- node.Run(ctx, node.Options{Config: cfg, Kinds: []node.Kind{beside, Kind()}, Log: slog.New(slog.NewTextHandler(log, nil))})
	}()
	t.Cleanup(func() {
		cancel()
		nodetest.Ends(t, ended)
		if t.Failed() {
			t.Log(log.Lines())
		}
	})
	return log
}

// F11: the node that leads a role of compaction has each service delete old rows, in more than one transaction if they are many, and says how many of each kind they were. What one
// of them cannot do keeps no other from it.
func TestCompaction(t *testing.T) {
	t.Parallel()
	base := pgtest.New(t)
	conn := base.Connect(t)
	pgtest.Exec(t, conn, `INSERT INTO conch.leadership_history (at, scope, epoch, holder, event)
		SELECT now() - make_interval(days => d), 's', 1, 'x', 'acquired' FROM generate_series(1, 1500) AS n, LATERAL (SELECT CASE WHEN n = 1500 THEN 1 ELSE 100 END) AS r(d)`)
	s := &shelf{broken: errors.New("no key to the library")}
	log := s.runs(t, base.URL, "name = \"compactor\"\nbuiltin = \"compaction\"\n")
	log.Says(t, "level=WARN", "not all tables could be compacted", "no key to the library")
	log.Says(t, "the tables are compacted", "books=2 leadership_history=1499 requests=0")
	s.set(nil)
	log.Says(t, "the tables are compacted", "books=6 leadership_history=0 requests=0")
	var left int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM conch.leadership_history WHERE scope = 's'`).Scan(&left); err != nil || left != 1 {
		t.Errorf("%d rows are left, %v", left, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := fmt.Sprint(s.asked); got != "[2160h0m0s 2160h0m0s 2160h0m0sa 2160h0m0sb]" {
		t.Errorf("the service was asked for %s", got)
	}
}

// F11: the node that leads a role of aggregation writes down the figures of every service in each slot. What one of them cannot say keeps no other from it, and is told once.
func TestAggregation(t *testing.T) {
	t.Parallel()
	base := pgtest.New(t)
	s := &shelf{broken: errors.New("the books are out")}
	log := s.runs(t, base.URL, "name = \"aggregator\"\nbuiltin = \"aggregation\"\nfenced = true\nevery = \"20s\"\nkeep = \"3h\"\n")
	slots := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.slots)
	}
	pgtest.Eventually(t, nodetest.Patience, "three slots", func() bool { return slots() >= 3 })
	log.Says(t, "level=WARN", "not all figures could be recorded", "the books are out")
	s.mu.Lock()
	if n := len(s.slots[0]); n != 6 { // those of the service that has failed, of the scopes, and what Record adds
		t.Errorf("the first slot has %v", s.slots[0])
	}
	s.mu.Unlock()
	s.set(nil)
	log.Says(t, "all figures are recorded again")
	s.mu.Lock()
	defer s.mu.Unlock()
	figures := map[string]float64{}
	for _, f := range s.slots[len(s.slots)-1] {
		figures[f.Name+f.Labels["state"]] = f.Value
	}
	if got := fmt.Sprint(figures); got != "map[aggregator20s 3h0m0s:0 conch_books:2 conch_epochs_total:1 conch_scopesled:1 conch_scopesreleased:0 conch_scopessilent:0]" {
		t.Errorf("a slot has %s", got)
	}
	told := 0
	for _, line := range log.Lines() {
		if strings.Contains(line, "not all figures") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("it was told %d times", told)
	}
}
