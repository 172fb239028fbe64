//go:build unix

package bench

import (
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/members"
)

// Runs of one number of clients are one figure, and are not mixed with those of another number.
func TestWhatEtcdHasDone(t *testing.T) {
	t.Parallel()
	k := keeper{loads: map[int]*burdens{}}
	for _, l := range []members.EtcdLine{
		{Kind: members.EtcdPuts, Clients: 1, Rate: 100, Processor: 50, Took: []float64{1, 2}},
		{Kind: members.EtcdPuts, Clients: 16, Rate: 900, Processor: 40, Took: []float64{9}},
		{Kind: members.EtcdPuts, Clients: 1, Rate: 300, Processor: 70, Took: []float64{3}},
		{Kind: members.EtcdRested, Bytes: 2000, Processor: 12},
		{Kind: members.EtcdWatches, Took: []float64{5, 6}},
		{Kind: members.EtcdWatches, Took: []float64{7}},
		{Kind: members.EtcdKilled, Took: []float64{1200}},
	} {
		k.takes(l)
	}
	one, other := k.of(1), k.of(16)
	if median(one.rates) != 200 || median(one.works) != 60 || quantile(one.answers, 1) != 3*time.Millisecond || len(one.answers) != 3 {
		t.Errorf("one client: %+v", one)
	}
	if median(other.rates) != 900 || len(other.answers) != 1 || len(k.of(64).rates) != 0 {
		t.Errorf("16 clients: %+v; 64: %+v", other, k.of(64))
	}
	if len(k.watched) != 3 || len(k.killed) != 1 || k.killed[0] != 1200*time.Millisecond || k.bytes != 2000 || k.processor != 12 {
		t.Errorf("the rest: %+v", k)
	}
}

// Without the program nothing stands beside conch's figures: a ceiling of 0 would read as a result.
func TestWithoutEtcd(t *testing.T) {
	t.Parallel()
	said := 0
	k, err := besideEtcd(t.Context(), Config{Say: func(string, ...any) { said++ }}, t.TempDir(), 500)
	if err != nil || said != 1 {
		t.Fatalf("it said %d lines, %v; want one that says what is missing", said, err)
	}
	var r Report
	one := k.of(1)
	r.beside("rate", 10, median(one.rates), "goals/s")
	r.spread("kill", []time.Duration{time.Second}, k.killed)
	for _, m := range r.Metrics {
		if m.Ceiling != nil || m.Ratio != nil {
			t.Errorf("%s is beside %v", m.Name, *m.Ceiling)
		}
	}
}
