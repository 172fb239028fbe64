//go:build unix

package bench

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
)

func TestQuantilesAreSamples(t *testing.T) {
	t.Parallel()
	var ds []time.Duration
	for i := 100; i >= 1; i-- {
		ds = append(ds, time.Duration(i)*time.Millisecond)
	}
	for q, want := range map[float64]time.Duration{0.5: 50e6, 0.99: 99e6, 1: 100e6, 0: 1e6} {
		if got := quantile(ds, q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if ds[0] != 100*time.Millisecond {
		t.Error("the samples were sorted in place")
	}
	if quantile(nil, 0.5) != 0 || median(nil) != 0 || median([]float64{3, 1, 2}) != 2 || median([]float64{4, 1}) != 2.5 {
		t.Error("an edge case is wrong")
	}
}

// A run whose last block has a half of what others have is half a block shorter.
func TestARunIsCountedWithoutItsEdge(t *testing.T) {
	t.Parallel()
	block := 250 * time.Millisecond
	for name, c := range map[string]struct {
		all  []tally
		want time.Duration
	}{
		"one block":           {[]tally{{block, 5}}, block},
		"the last is full":    {[]tally{{block, 100}, {2 * block, 200}, {3 * block, 300}}, 3 * block},
		"the last has a half": {[]tally{{block, 100}, {2 * block, 200}, {3 * block, 250}}, 5 * block / 2},
		"the last has more":   {[]tally{{block, 100}, {2 * block, 200}, {3 * block, 900}}, 3 * block},
	} {
		if got := withoutEdge(c.all); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// A missing ceiling is null: a ratio of 0 would read as a result.
func TestAMissingCeilingIsNull(t *testing.T) {
	t.Parallel()
	r := Report{Name: "x"}
	r.add("alone", 1.23456, "ms")
	r.beside("beside", 3, 1.5, "ms")
	r.beside("beside nothing", 3, 0, "ms")
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"x","metrics":[` +
		`{"name":"alone","value":1.235,"unit":"ms","ceiling":null,"ratio":null},` +
		`{"name":"beside","value":3,"unit":"ms","ceiling":1.5,"ratio":2},` +
		`{"name":"beside nothing","value":3,"unit":"ms","ceiling":null,"ratio":null}]}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if table := r.Markdown(); !strings.Contains(table, "| `beside` | 3 | 1.5 | 2 | ms |\n") || !strings.Contains(table, "| 1.235 | - | - |") {
		t.Errorf("got the table %s, want a ratio and two dashes", table)
	}
}

// A gap is between the last act of one term and the first act of the next, in whatever order the
// evidence comes; a term without an act has no gap.
func TestGaps(t *testing.T) {
	t.Parallel()
	spans := map[int64]span{}
	for _, a := range []struct {
		epoch      int64
		start, end fence.Instant
	}{{2, 130, 140}, {1, 10, 20}, {1, 90, 100}, {2, 110, 115}, {1, 50, 60}} {
		widen(spans, a.epoch, a.start, a.end)
	}
	got, overlaps := between(spans, []change{{1, 2}, {2, 3}})
	if len(got) != 1 || got[0] != 10 || overlaps != nil {
		t.Errorf("got the gaps %v and the overlaps %v, want one of 10 and none", got, overlaps)
	}
}

func TestFaultsMeetEveryPhase(t *testing.T) {
	t.Parallel()
	const parts = 10
	seen := map[int64]bool{}
	for i := range 30 {
		p := phase(time.Second, i)
		if p < 0 || p >= time.Second {
			t.Fatalf("phase %d is %v, want it within a second", i, p)
		}
		seen[int64(p*parts/time.Second)] = true
	}
	if len(seen) != parts {
		t.Errorf("30 faults met %d of %d tenths of the interval", len(seen), parts)
	}
}
