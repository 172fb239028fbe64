//go:build unix

package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// A ceiling that leaves nodes out would be too good.
func TestAFloodReachesAll(t *testing.T) {
	t.Parallel()
	f, err := openFlood(t.Context(), [][]int{{1, 4}, {2}, {3}, {4}, {}})
	defer f.close()
	if err != nil {
		t.Fatal(err)
	}
	for from := range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		took, err := f.send(ctx, from)
		cancel()
		if err != nil || len(took) != 4 || slices.Min(took) <= 0 {
			t.Errorf("from %d: got %v and %v, want four times", from, took, err)
		}
	}
}

func TestAFloodThatCannotReachAllFails(t *testing.T) {
	t.Parallel()
	f, err := openFlood(t.Context(), [][]int{{1}, {}, {3}, {}})
	defer f.close()
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	heard := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.heard[1][1]
	}
	go func() {
		_ = within(context.WithoutCancel(ctx), time.Minute, time.Millisecond, "one has heard it", func() (bool, error) { return heard(), nil })
		cancel(gone)
	}()
	if took, err := f.send(ctx, 0); !errors.Is(err, gone) {
		t.Errorf("got %v and %v, want no times: two of four cannot be reached", took, err)
	}
}

// Without another library there is no ratio, and a ratio that was asked for is left out rather than made up.
func TestNothingStandsBesideACrowdAlone(t *testing.T) {
	t.Parallel()
	ours := found{cold: []time.Duration{1e9}, crashes: []time.Duration{1e9, 2e9}, news: []time.Duration{1e6}}
	ours.rest.add(100, metered{took: 10 * time.Second, processor: time.Second, wire: 200_000}, 2000, 100_000)
	var alone Report
	reportCrowd(&alone, amounts{crowd: 100}, ours, found{}, found{}, []time.Duration{1e5})
	for _, m := range alone.Metrics {
		has := m.Name == "killed_to_all_rounds" || strings.HasPrefix(m.Name, "news_beside_flood")
		if m.Ratio != nil && !has {
			t.Errorf("%s is %v beside %v, and there was nothing beside it", m.Name, m.Value, *m.Ceiling)
		}
		if m.Name == "killed_to_all_ratio" || m.Name == "news_missed_serf" {
			t.Errorf("%s is %v, want it left out", m.Name, m.Value)
		}
	}
	var both Report
	listed := found{crashes: []time.Duration{10e9, 10e9}, cold: []time.Duration{2e9}}
	listed.rest.add(100, metered{took: 10 * time.Second}, 1000, 50_000)
	reportCrowd(&both, amounts{crowd: 100}, ours, listed, found{}, nil)
	for name, want := range map[string][2]float64{ // a value, and its ratio
		"killed_to_all_p50": {1000, 0.1}, "killed_to_all_max": {2000, 0.2}, "killed_to_all_ratio": {0.1, 0.6667}, "killed_to_all_rounds": {20, 1.667},
		"rest_100_bytes_beside_memberlist": {100, 2}, "rest_100_messages_beside_memberlist": {2, 2}, "cold_beside_memberlist_p50": {1000, 0.5},
	} {
		at := slices.IndexFunc(both.Metrics, func(m Metric) bool { return m.Name == name })
		if at < 0 {
			t.Errorf("%s is missing", name)
			continue
		}
		if m := both.Metrics[at]; m.Value != want[0] || m.Ratio == nil || *m.Ratio != want[1] {
			t.Errorf("%s is %+v, want %v", name, m, want)
		}
	}
}
