package evidence_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/fence"
)

// A stale act is judged by when it checked its gate: a margin before any successor acted, or
// later. Epoch 2 first acts at 160 ms; each case adds an act of epoch 1.
func TestAWriteThatWasOnlySlow(t *testing.T) {
	const margin = 50 * time.Millisecond
	act := func(start, checked, end fence.Instant) evidence.Act {
		return evidence.Act{Start: start * ms, Checked: checked * ms, End: end * ms, Epoch: 1, Term: "a", Node: "n"}
	}
	for _, c := range []struct {
		name        string
		stale       evidence.Act
		margin      time.Duration
		overlapping int
		slow        int
	}{
		{"asked in time, written while the successor acts", act(99, 100, 161), margin, 0, 1},
		{"asked in time, its line came later", act(99, 100, 101), margin, 0, 1},
		{"asked a margin before", act(99, 110, 161), margin, 0, 1},
		{"asked in the margin", act(99, 111, 161), margin, 2, 0},
		{"asked in the margin, its line came later", act(99, 111, 112), margin, 1, 0},
		{"asked when the successor acted already", act(99, 161, 162), margin, 2, 0},
		{"began, asked and ended after it", act(170, 171, 172), margin, 1, 0},
		{"did not say when it asked", act(99, 0, 161), margin, 2, 0},
		{"nobody said what the margin is", act(99, 100, 161), 0, 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sound()
			r.Margin = c.margin
			r.Outside = append(r.Outside, c.stale)
			f := evidence.Find(r)
			if len(f.Overlapping) != c.overlapping || len(f.Slow) != c.slow {
				t.Errorf("got %d overlapping, want %d; got slow %v, want %d: %+v", len(f.Overlapping), c.overlapping, f.Slow, c.slow, f.Overlapping)
			}
			if got := evidence.Judge(r).Overlapping; got != c.overlapping {
				t.Errorf("the verdict counts %d overlapping, want %d", got, c.overlapping)
			}
		})
	}
}

// Two terms that share an epoch overlap, and a later epoch excuses neither.
func TestASharedEpochIsNeverSlow(t *testing.T) {
	r := sound()
	r.Margin = 50 * time.Millisecond
	r.Outside[1].Checked = 96 * ms
	r.Outside = append(r.Outside[:2:2],
		evidence.Act{Start: 96 * ms, Checked: 97 * ms, End: 99 * ms, Epoch: 1, Term: "x", Node: "m"}, r.Outside[2])
	if f := evidence.Find(r); len(f.Overlapping) != 2 || len(f.Slow) != 0 { // an overlap, and one epoch with two terms
		t.Errorf("got %+v, want two overlapping and none slow", f)
	}
}
