package condition

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// point is a value of the judge's, which keeps all of them.
type point struct {
	t int64
	v float64
}

func (p point) T() int64                                     { return p.t }
func (point) ST() int64                                      { return 0 }
func (p point) F() float64                                   { return p.v }
func (point) H() *histogram.Histogram                        { return nil }
func (point) FH() *histogram.FloatHistogram                  { return nil }
func (point) Type() chunkenc.ValueType                       { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample                          { return p }
func (j *judge) Querier(_, _ int64) (storage.Querier, error) { return judging{querier{}, j}, nil }

// judge keeps every point of every series for ever, and gives the engine all of them.
type judge struct {
	lists map[string][]chunks.Sample
	names map[string]labels.Labels
}

func (j *judge) add(l labels.Labels, t int64, v float64) {
	j.names[l.String()] = l
	j.lists[l.String()] = append(j.lists[l.String()], point{t, v})
}

type judging struct {
	querier
	j *judge
}

func (q judging) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	out := &found{at: -1}
	for key, l := range q.j.names {
		is := true
		for _, m := range matchers {
			is = is && m.Matches(l.Get(m.Name))
		}
		if is {
			out.all = append(out.all, storage.NewListSeries(l, q.j.lists[key]))
		}
	}
	return out
}

// The window, which keeps few points and shows the engine fewer, lets every condition be what it is over all points: over random histories
// with nodes that go and come, series that go and come, and counters that begin again.
func TestTheWindowIsAsGoodAsAllPoints(t *testing.T) {
	t.Parallel()
	conditions := []string{
		`sum by (scope) (conch_is_leader) == 0`, `increase(conch_leader_failovers_total[2m])`, `rate(conch_leader_failovers_total[3m] offset 1m) >= 0`, `last_over_time(conch_is_leader[10m]) unless conch_is_leader`,
		`count_over_time(conch_is_leader[5m])`, `max_over_time(sum by (scope) (conch_is_leader)[5m:30s]) > 0`, `present_over_time(conch_is_leader[3m])`, `absent_over_time(conch_is_leader{scope="s1"}[2m])`,
		`conch_is_leader offset 2m`, `last_over_time(conch_is_leader[1m] offset 3m)`, `last_over_time(conch_is_leader[2m])[4m:45s]`, `changes(conch_is_leader{instance=~"n[12]"}[10m])`, `{__name__=~"conch_is_.*"} == 1`,
		`max_over_time(last_over_time(conch_is_leader[2m])[4m:45s])`, `increase(conch_extrinsic_blocked_not_leader_total[2m])`, `irate(conch_extrinsic_blocked_not_leader_total[5m]) >= 0`,
		`resets(conch_leader_failovers_total[4m])`, `min_over_time(conch_extrinsic_blocked_not_leader_total[3m])`, `changes(conch_extrinsic_blocked_not_leader_total[4m] offset 1m)`,
		`max_over_time(increase(conch_extrinsic_blocked_not_leader_total[2m])[4m:30s])`, `delta(conch_is_leader[1m])`,
	}
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		var usable []string
		for _, text := range conditions {
			if c, err := Parse(text); err == nil && c.expr.Type() == "vector" {
				usable = append(usable, text)
			}
		}
		b := newBed(t, usable...)
		j := &judge{lists: map[string][]chunks.Sample{}, names: map[string]labels.Labels{}}
		last := map[string]map[string]bool{}
		idle := map[string]time.Time{}
		away, count := map[string]int{}, map[string]int{}
		for round := range 120 {
			b.now = b.now.Add(interval + time.Duration(rnd.IntN(200))*time.Millisecond)
			for n := range 3 {
				node := fmt.Sprint("n", n)
				if away[node]--; away[node] > 0 {
					continue
				}
				if rnd.IntN(25) == 0 {
					away[node], count[node] = rnd.IntN(30), 0
					continue
				}
				var lines []string
				now := map[string]bool{}
				for s := range 3 {
					if rnd.IntN(12) == 0 {
						continue
					}
					scope := fmt.Sprint("s", s)
					count[node] += rnd.IntN(2)
					for name, v := range map[string]int{"conch_is_leader": rnd.IntN(2), "conch_leader_failovers_total": count[node], "conch_extrinsic_blocked_not_leader_total": count[node] / 20} {
						lines = append(lines, fmt.Sprintf(`%s{scope="%s"} %d`, name, scope, v))
						l := labels.FromStrings("__name__", name, "scope", scope, "instance", node)
						j.add(l, b.now.UnixMilli(), float64(v))
						now[l.String()] = true
					}
				}
				for key := range last[node] {
					if !now[key] {
						j.add(j.names[key], b.now.UnixMilli(), math.Float64frombits(value.StaleNaN))
					}
				}
				last[node], idle[node] = now, b.now
				b.tells(node, lines...)
			}
			for node, since := range idle {
				if b.now.Sub(since) >= 2*interval-interval/4 {
					for key := range last[node] {
						j.add(j.names[key], b.now.UnixMilli(), math.Float64frombits(value.StaleNaN))
					}
					delete(last, node)
				}
			}
			b.w.EndRound(b.now)
			if round%4 != 3 {
				continue
			}
			for _, text := range usable {
				c := parsed(t, text)
				got := written(b.w.Evaluate(t.Context(), c, b.now))
				q, err := b.w.engine.NewInstantQuery(t.Context(), j, nil, c.Text, b.now)
				if err != nil {
					t.Fatal(err)
				}
				if want := judged(t, q.Exec(t.Context())); want != got && (want != "false" || got != "no data") {
					t.Fatalf("seed %d: %s is %s, and over all points %s", seed, text, got, want)
				}
			}
		}
	}
}

// judged writes the engine's answer over all points.
func judged(t *testing.T, out *promql.Result) string {
	t.Helper()
	vector, err := out.Vector()
	if err != nil {
		t.Fatal(err)
	}
	for i := range vector {
		vector[i].Metric = vector[i].Metric.DropReserved(isName)
	}
	slices.SortFunc(vector, func(a, b promql.Sample) int { return labels.Compare(a.Metric, b.Metric) })
	r := Result{}
	for _, s := range vector {
		r.Members = append(r.Members, Member{s.Metric.Map(), s.F})
	}
	return written(r)
}
