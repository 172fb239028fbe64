package alerts

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/condition"
	"github.com/conchhq/conch/cmd/conch/internal/condition/sample"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/fence"
)

// machine is a node with the metrics of its scopes, which it leads if a test says so.
type machine struct {
	name    string
	latch   map[string]*fence.Latch
	sampler *sampler
	up      prometheus.Gauge
}

// newMachine returns a node that leads none of its scopes.
func newMachine(t testing.TB, name string, s *Section, scopes ...string) *machine {
	t.Helper()
	m := &machine{name: name, latch: map[string]*fence.Latch{}, up: prometheus.NewGauge(prometheus.GaugeOpts{Name: "conch_database_up"})}
	m.up.Set(1)
	gates := map[string]*fence.Gate{}
	for _, scope := range scopes {
		gates[scope], m.latch[scope] = fence.New(scope, func() fence.Instant { return 0 })
	}
	c := metric.New(scopes, func(scope string) *fence.Gate { return gates[scope] }, func() fence.Instant { return 0 })
	m.sampler = newSampler([]prometheus.Collector{c, m.up, metric.Build("v1"), metric.Certificates()}, s)
	return m
}

// shelf is where nodes put their rows.
type shelf struct{ all []condition.Row }

func (s *shelf) put(m *machine, at time.Time) {
	s.all = append(s.all, condition.Row{Node: m.name, Seq: uint64(len(s.all)) + 1, Body: m.sampler.Sample(), At: at})
}

func (s *shelf) read(_ context.Context, after uint64, without []uint64) (rows []condition.Row, err error) {
	for _, r := range s.all {
		if r.Seq > after && !slices.Contains(without, r.Seq) && r.Body != nil {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// namesOf lists the rules with members.
func namesOf(all []alerts.Result) (names []string) {
	for _, r := range all {
		if len(r.Members) > 0 || r.Fault != "" {
			names = append(names, r.Rule+r.Fault)
		}
	}
	return names
}

// F9, S33: three nodes tell what /metrics has; a healthy cluster fires nothing, a dead leader fires the seed's first alert and the built-in
// ones about it, and a node that is away is named.
func TestAClusterOfThree(t *testing.T) {
	t.Parallel()
	c, err := load(t, cluster+seeds, pager, slack)
	if err != nil {
		t.Fatal(err)
	}
	s := config.Of[*Section](c)
	var rows shelf
	e := newEvaluator(s, rows.read)
	now := time.Unix(1_800_000_000, 0)
	n1, n2, n3 := newMachine(t, "n1", s, "scheduler"), newMachine(t, "n2", s, "scheduler"), newMachine(t, "n3", s, "scheduler")
	pass := func(rounds int, nodes ...*machine) (out []alerts.Result) {
		for range rounds {
			now = now.Add(s.interval)
			for _, n := range nodes {
				rows.put(n, now)
			}
			var err error
			if out, err = e.Evaluate(t.Context(), now); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	wants := func(when string, got []alerts.Result, want ...string) {
		t.Helper()
		if names := namesOf(got); !slices.Equal(names, want) {
			t.Errorf("%s: %v fire, want %v", when, names, want)
		}
	}
	n1.latch["scheduler"].Open(fence.Token{Scope: "scheduler", Epoch: 1}, 0, 1<<60)
	for range 240 { // an hour
		wants("all is well", pass(1, n1, n2, n3))
	}
	n2.up.Set(0)
	wants("one is without its database", pass(1, n1, n2, n3), "ConchDatabaseAway")
	n2.up.Set(1)
	wants("one row is missing", pass(1, n2, n3))
	wants("the leader is dead", pass(1, n2, n3), "ConchNobodyLeads", "ConchNodeNotReady", "no_scheduler_leader")
	n2.latch["scheduler"].Open(fence.Token{Scope: "scheduler", Epoch: 2}, 0, 1<<60)
	out := pass(1, n2, n3)
	wants("another one leads", out, "ConchNodeNotReady")
	at := slices.IndexFunc(out, func(r alerts.Result) bool { return r.Rule == "ConchNodeNotReady" })
	if m := out[at].Members; len(m) != 1 || m[0].Labels["instance"] != "n1" {
		t.Errorf("the node that is away is %+v, want n1", m)
	}
	n3.latch["scheduler"].Open(fence.Token{Scope: "scheduler", Epoch: 1}, 0, 1<<60)
	wants("two lead", pass(1, n1, n2, n3), "ConchTwoLead")
	out = pass(3)
	wants("nobody is there", out, "ConchNobodyIsThere")
	for _, r := range out {
		if r.Rule == "no_scheduler_leader" && !r.NoData {
			t.Error("the seed's first alert is false while nobody is there, want no data")
		}
	}

	late := newEvaluator(s, rows.read)
	again, err := late.Evaluate(t.Context(), now)
	if err != nil || !reflect.DeepEqual(again, out) {
		t.Errorf("a new leader says %v, %v, and the old one %v", namesOf(again), err, namesOf(out))
	}
	pass(1, n1, n2, n3)
	if again, err = late.Evaluate(t.Context(), now); err != nil || len(namesOf(again)) != 1 {
		t.Errorf("a round later the new leader says %v, %v, want that two lead", namesOf(again), err)
	}
}

// Rows that come late, twice, or out of order are taken once; a reading that fails is no answer.
func TestRowsOutOfOrder(t *testing.T) {
	t.Parallel()
	s := builtin()
	m := newMachine(t, "n1", s, "a")
	m.latch["a"].Open(fence.Token{Scope: "a", Epoch: 1}, 0, 1<<60)
	now := time.Unix(1_800_000_000, 0)
	row := func(seq uint64, body []byte) condition.Row {
		return condition.Row{Node: "n1", Seq: seq, Body: body, At: now}
	}
	var next []condition.Row
	var fails error
	e := newEvaluator(s, func(_ context.Context, after uint64, _ []uint64) ([]condition.Row, error) {
		if e := after; e > 5000 {
			t.Errorf("asked for rows after %d", e)
		}
		return next, fails
	})
	var odd []error
	e.odd = func(err error) { odd = append(odd, err) }
	first, second := m.sampler.Sample(), m.sampler.Sample()
	for _, rows := range [][]condition.Row{{row(5001, first)}, {row(5003, second), row(5002, []byte("late"))}, {row(5003, second)}, {row(5004, nil)}} {
		next, now = rows, now.Add(s.interval)
		if _, err := e.Evaluate(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	if len(odd) != 1 || !errors.Is(odd[0], sample.ErrForeign) || e.last != 5004 {
		t.Errorf("got %v, and rows up to %d, want one row that cannot be read and 5004", odd, e.last)
	}
	fails = errors.New("away")
	if out, err := e.Evaluate(t.Context(), now); !errors.Is(err, fails) || out != nil {
		t.Errorf("got %v, %v, want the error alone", out, err)
	}
}

// A node that has written twice since the last reading is known by its names, which the older row has alone.
func TestTwoRowsOfANodeAtOnce(t *testing.T) {
	t.Parallel()
	s := builtin()
	var rows shelf
	e := newEvaluator(s, rows.read)
	e.odd = func(err error) { t.Error(err) }
	now := time.Unix(1_800_000_000, 0)
	if _, err := e.Evaluate(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, "n1", s, "a")
	m.latch["a"].Open(fence.Token{Scope: "a", Epoch: 1}, 0, 1<<60)
	for range 3 {
		now = now.Add(s.interval)
		rows.put(m, now)
		rows.put(m, now)
		if out, err := e.Evaluate(t.Context(), now); err != nil || len(namesOf(out)) > 0 {
			t.Errorf("%v fire, %v", namesOf(out), err)
		}
	}
}

// With more nodes than a reading looks back over at least, a row that has come late counts, and nothing is read twice.
func TestManyNodesWriteAtOnce(t *testing.T) {
	t.Parallel()
	s := builtin()
	var rows shelf
	read := 0
	e := newEvaluator(s, func(ctx context.Context, after uint64, without []uint64) ([]condition.Row, error) {
		all, err := rows.read(ctx, after, without)
		read += len(all)
		return all, err
	})
	now, bodies := time.Unix(1_800_000_000, 0), 0
	var nodes []*machine
	for i := range 40 {
		nodes = append(nodes, newMachine(t, fmt.Sprint("n", i), s, "a"))
	}
	nodes[0].latch["a"].Open(fence.Token{Scope: "a", Epoch: 1}, 0, 1<<60)
	var late []byte
	for round := range 20 {
		now = now.Add(s.interval)
		if late != nil {
			rows.all[len(rows.all)-len(nodes)].Body = late // it is committed now, with a number of the round before
		}
		for i, m := range nodes {
			if rows.put(m, now); i == 0 && round > 0 {
				late, rows.all[len(rows.all)-1].Body = rows.all[len(rows.all)-1].Body, nil
			}
		}
		bodies += len(nodes)
		out, err := e.Evaluate(t.Context(), now)
		if fire := namesOf(out); err != nil || len(fire) > 0 {
			t.Fatalf("in round %d %v fire, %v", round, fire, err)
		}
	}
	if read != bodies-1 {
		t.Errorf("%d rows were read, want each of %d once", read, bodies-1)
	}
}

// The body of a node with a thousand scopes, by the built-in alerts, has six series a scope and a few kilobytes.
func TestTheBodyOfAThousandScopes(t *testing.T) {
	t.Parallel()
	s := builtin()
	var scopes []string
	for i := range 1000 {
		scopes = append(scopes, fmt.Sprintf("tenant-%d/billing", i))
	}
	m := newMachine(t, "n1", s, scopes...)
	var r sample.Reader
	if _, err := r.ReadBody(m.sampler.Sample()); err != nil {
		t.Fatal(err)
	}
	body := m.sampler.Sample()
	row, err := r.ReadBody(body)
	if err != nil || len(row.Values) != 6001 || len(body) > 9000 {
		t.Errorf("%d series in %d bytes, %v: want 6,001 in 9,000 at most", len(row.Values), len(body), err)
	}
}

// BenchmarkEvaluate evaluates the built-in alerts over the samples of three nodes that have told theirs for an hour: the time of a round, and
// its part of the interval.
func BenchmarkEvaluate(b *testing.B) {
	for _, size := range []struct {
		scopes   int
		interval time.Duration
	}{{1000, 15 * time.Second}, {10_000, time.Minute}} {
		b.Run(fmt.Sprint(size.scopes), func(b *testing.B) {
			s := builtin()
			s.interval = size.interval
			var rows shelf
			e := newEvaluator(s, rows.read)
			now := time.Unix(1_800_000_000, 0)
			var scopes []string
			for i := range size.scopes {
				scopes = append(scopes, fmt.Sprintf("tenant-%d/billing", i))
			}
			var nodes []*machine
			for n := range 3 {
				m := newMachine(b, fmt.Sprint("n", n), s, scopes...)
				for i, scope := range scopes {
					if i%3 == n {
						m.latch[scope].Open(fence.Token{Scope: scope, Epoch: 1}, 0, 1<<60)
					}
				}
				nodes = append(nodes, m)
			}
			tell := func() {
				now = now.Add(s.interval)
				for _, m := range nodes {
					rows.put(m, now)
				}
			}
			round := func() {
				all, err := e.Evaluate(b.Context(), now)
				if fire := namesOf(all); err != nil || len(fire) > 0 {
					b.Fatal(fire, err)
				}
			}
			for range e.window.KeepFor() / s.interval {
				tell()
			}
			round()
			for b.Loop() {
				b.StopTimer()
				tell()
				b.StartTimer()
				round()
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(s.interval)*100, "%-of-a-core")
		})
	}
}
