package metric_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/condition/sample"
	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

func written(set *sample.Set, values []float64) string {
	var lines []string
	for i, s := range set.Series {
		lines = append(lines, fmt.Sprint(s.Name, s.Labels, values[i]))
	}
	return strings.Join(lines, "\n")
}

// F9: a node tells the series that rules name and no others, with the labels that /metrics has; a series that goes or comes makes another set.
func TestPicker(t *testing.T) {
	t.Parallel()
	c := metric.New([]string{"a"}, func(string) *fence.Gate { return nil }, nil)
	papers := metric.Certificates()
	papers.WithLabelValues("tls").Set(7)
	asked := 0
	lost := metric.LostLines(func() uint64 { asked++; return 3 })
	p := metric.NewPicker([]prometheus.Collector{c, papers, lost}, []string{"conch_is_leader", "conch_leader_failovers_total", "conch_certificate_expiry_seconds", "conch_heartbeat_update_ms_count"})
	set, values := p.ReadSeries()
	got := written(set, values)
	want := "conch_leader_failovers_total[{scope a}] 0\nconch_heartbeat_update_ms_count[{scope a}] 0\nconch_is_leader[{scope a}] 0\nconch_certificate_expiry_seconds[{name tls}] 7"
	if got != want || asked != 0 {
		t.Errorf("got\n%s\nwant\n%s\nand %d measurements of what nobody wants, want none", got, want, asked)
	}
	c.Events().Fact(election.Fact{Kind: election.Acquired, Scope: "a", Token: fence.Token{Epoch: 2}})
	if again, values := p.ReadSeries(); again != set || values[0] != 1 {
		t.Errorf("nothing has come or gone: got another set, or the values %v", values)
	}
	papers.DeleteLabelValues("tls")
	papers.WithLabelValues("database").Set(8)
	c.Add("b")
	less, values := p.ReadSeries()
	if got := written(less, values); less == set || strings.Contains(got, "tls") || strings.Count(got, "scope b") != 3 || !strings.Contains(got, "{name database}] 8") {
		t.Errorf("after a change: got\n%s", got)
	}
	if same, _ := p.ReadSeries(); same != less {
		t.Error("the set is made anew although nothing has changed")
	}
}

func BenchmarkPicker(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var scopes []string
			for i := range n {
				scopes = append(scopes, fmt.Sprintf("tenant-%d/billing", i))
			}
			p := metric.NewPicker([]prometheus.Collector{metric.New(scopes, func(string) *fence.Gate { return nil }, nil)}, []string{
				"conch_is_leader", "conch_leaderless_seconds", "conch_heartbeat_age_ms", "conch_role_failures_total", "conch_leader_failovers_total",
			})
			p.ReadSeries()
			var w sample.Writer
			for b.Loop() {
				set, values := p.ReadSeries()
				b.ReportMetric(float64(len(w.WriteBody(set, values))), "bytes")
			}
		})
	}
}
