package condition

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/conchhq/conch/cmd/conch/internal/condition/sample"
)

const interval = 15 * time.Second

// bed is a cluster whose nodes tell what a test says.
type bed struct {
	t       *testing.T
	w       *Window
	now     time.Time
	writers map[string]*sample.Writer
	seq     uint64
	told    []Row // all of them, for one who loads them
	sets    map[string]*sample.Set
}

func newBed(t *testing.T, conditions ...string) *bed {
	t.Helper()
	var all []*Condition
	for _, text := range conditions {
		all = append(all, parsed(t, text))
	}
	return &bed{
		t: t, w: NewWindow(interval, Needs(all...)), now: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC),
		writers: map[string]*sample.Writer{}, sets: map[string]*sample.Set{},
	}
}

func parsed(t testing.TB, text string) *Condition {
	t.Helper()
	c, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

// row makes the row of a node, from lines as /metrics has them.
func (b *bed) row(node string, lines ...string) Row {
	b.t.Helper()
	var all []sample.Series
	var values []float64
	for _, line := range lines {
		at := strings.LastIndexByte(line, ' ')
		l, err := grammar.ParseMetric(line[:at])
		if err != nil {
			b.t.Fatal(err)
		}
		one, v := sample.Series{}, 0.0
		l.Range(func(l labels.Label) {
			if l.Name == model.MetricNameLabel {
				one.Name = l.Value
			} else {
				one.Labels = append(one.Labels, sample.Label{Name: l.Name, Value: l.Value})
			}
		})
		if _, err := fmt.Sscan(line[at+1:], &v); err != nil {
			b.t.Fatal(err)
		}
		all, values = append(all, one), append(values, v)
	}
	if b.writers[node] == nil {
		b.writers[node] = new(sample.Writer)
	}
	set := sample.NewSet(all)
	b.seq++
	return Row{Node: node, Seq: b.seq, Body: b.writers[node].WriteBody(set, values), At: b.now}
}

// tells has a node tell some lines now.
func (b *bed) tells(node string, lines ...string) {
	b.t.Helper()
	r := b.row(node, lines...)
	b.told = append(b.told, r)
	if err := b.w.TakeRow(r, b.now); err != nil {
		b.t.Fatal(err)
	}
}

// pass ends rounds, in each of which some nodes tell their lines first.
func (b *bed) pass(rounds int, tell ...func()) {
	for range rounds {
		b.now = b.now.Add(interval)
		for _, one := range tell {
			one()
		}
		b.w.EndRound(b.now)
	}
}

// gives evaluates a condition, and writes the result.
func (b *bed) gives(text string) string {
	b.t.Helper()
	return written(b.w.Evaluate(b.t.Context(), parsed(b.t, text), b.now))
}

func written(r Result) string {
	if r.Err != nil {
		return "error: " + r.Err.Error()
	}
	if r.NoData {
		return "no data"
	}
	if len(r.Members) == 0 {
		return "false"
	}
	var all []string
	for _, m := range r.Members {
		all = append(all, fmt.Sprintf("%v %v", strings.TrimPrefix(fmt.Sprint(m.Labels), "map"), m.Value))
	}
	return strings.Join(all, "; ")
}

func (b *bed) wants(when, text, want string) {
	b.t.Helper()
	if got := b.gives(text); got != want {
		b.t.Errorf("%s: %s is %s, want %s", when, text, got, want)
	}
}

// leads are the lines of a node about the scope scheduler.
func leads(is int) []string {
	return []string{fmt.Sprintf(`conch_is_leader{scope="scheduler"} %d`, is), fmt.Sprintf(`conch_leader_failovers_total{scope="scheduler"} %d`, is)}
}
