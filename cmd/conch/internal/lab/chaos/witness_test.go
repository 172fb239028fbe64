package chaos

import (
	"os"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/fence"
)

const ms = fence.Instant(time.Millisecond)

func TestTheLongestGap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		at   []fence.Instant
		want time.Duration
	}{
		{"nothing", nil, 0},
		{"one", []fence.Instant{5 * ms}, 0},
		{"in order", []fence.Instant{5 * ms, 6 * ms, 16 * ms, 17 * ms}, 10 * time.Millisecond},
		{"two files, read one after the other", []fence.Instant{1 * ms, 9 * ms, 2 * ms, 8 * ms}, 6 * time.Millisecond},
	} {
		if got := longestGap(c.at); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A workload that is away has been so since its last sign. An outage that is not over counts until
// now.
func TestAGapThatIsNotOver(t *testing.T) {
	t.Parallel()
	w := newWitness(t.TempDir())
	if got := w.gap(rows, 1500*ms); got != 0 {
		t.Errorf("without a sign: got %s, want 0", got)
	}
	for at := range fence.Instant(11) {
		w.saw(rows, sign{at: at * 10 * ms})
	}
	for now, want := range map[fence.Instant]time.Duration{1500 * ms: 1400 * time.Millisecond, 105 * ms: 10 * time.Millisecond} {
		if got := w.gap(rows, now); got != want {
			t.Errorf("at %v: got %s, want %s", time.Duration(now), got, want)
		}
	}
	w.mark()
	if got := w.gap(rows, 300*ms); got != 200*time.Millisecond {
		t.Errorf("from the last sign before the mark: got %s, want 200ms", got)
	}
}

func TestAWitnessReadsOnlyWholeLinesAndOnlyOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	w := newWitness(dir)
	see := func(row, act int, behind int) {
		t.Helper()
		if err := w.look(); err != nil {
			t.Fatal(err)
		}
		if len(w.since[rows]) != row || len(w.since[outside]) != act || len(w.behind(15)) != behind {
			t.Errorf("got %d rows, %d acts, behind %v; want %d, %d, %d", len(w.since[rows]), len(w.since[outside]), w.behind(15), row, act, behind)
		}
	}
	see(0, 0, 3)
	write(evidence.AckFile(dir, "node-2"), `{"seq":1,"epoch":4,"term":"t","at":10}`+"\n"+`{"seq":2,"ep`)
	see(1, 0, 3)
	write(evidence.AckFile(dir, "node-2"), `och":4,"term":"t","at":20}`+"\n")
	write(evidence.OutsideFile(dir), `{"start":29,"end":30,"epoch":4,"term":"t","node":"node-2"}`+"\n")
	see(2, 1, 1)
	if w.last[rows] != (sign{20, "node-2", 4}) || w.gap(rows, 20) != 10 {
		t.Errorf("got the last sign %+v and the gap %v, want the row of epoch 4 and 10", w.last[rows], w.gap(rows, 20))
	}
	w.mark()
	see(1, 1, 1)
	write(childrenFile(dir), `{"start":29,"end":30,"epoch":4,"term":"t","node":"node-1"}`+"\n")
	see(1, 1, 0)
	write(childrenFile(dir), "rubbish\n")
	if err := w.look(); err == nil {
		t.Error("rubbish gave no error")
	}
}
