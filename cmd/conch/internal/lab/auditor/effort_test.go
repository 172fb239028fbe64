package auditor_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
)

// What the nodes send for nothing is a fault once it is more than what lands, except while something is done to them. What others
// send is none of theirs.
func TestWhatIsSentForNothing(t *testing.T) {
	t.Parallel()
	skipped := func(r *auditor.Record, n int, block uint64, sender string) {
		for range n {
			e := r.Ledger.Entries[1]
			e.Block, e.Sender = block, sender
			r.Ledger.Entries = append(r.Ledger.Entries, e)
		}
	}
	for name, c := range map[string]struct {
		spoil func(r *auditor.Record)
		want  auditor.Calm
		total int
		fails bool
	}{
		"a few":     {func(r *auditor.Record) { skipped(r, 49, 9, north) }, auditor.Calm{Landed: 2, Skipped: 50}, 50, false},
		"one more":  {func(r *auditor.Record) { skipped(r, 50, 9, north) }, auditor.Calm{Landed: 2, Skipped: 51}, 51, true},
		"by others": {func(r *auditor.Record) { skipped(r, 90, 9, "0xff") }, auditor.Calm{Landed: 2, Skipped: 1}, 1, false},
		"while there is trouble": {func(r *auditor.Record) {
			skipped(r, 90, 9, north)
			r.Troubles = []auditor.Trouble{{From: 1, To: 2}, {From: 9, To: 9}}
		}, auditor.Calm{Landed: 2, Skipped: 1}, 91, false},
		"after it": {func(r *auditor.Record) {
			skipped(r, 90, 9, north)
			r.Troubles = []auditor.Trouble{{From: 7, To: 8}}
		}, auditor.Calm{Landed: 1, Skipped: 91}, 91, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := whole(t)
			c.spoil(&r)
			v := auditor.Judge(r)
			err := v.Fault()
			if v.Calm != c.want || v.Skipped != c.total || (err != nil) != c.fails || len(v.Violations) > 0 {
				t.Errorf("got %+v, %d, %v, %v; want %+v, %d, a fault: %v", v.Calm, v.Skipped, err, v.Violations, c.want, c.total, c.fails)
			}
			if c.fails && !strings.Contains(err.Error(), "while nothing was done to any node") {
				t.Errorf("the fault is %v", err)
			}
		})
	}
}

// As many skipped entries as landed ones are none, however many there are.
func TestAsManyAreSkippedAsLand(t *testing.T) {
	t.Parallel()
	for skipped, fails := range map[int]bool{300: false, 301: true} {
		v := auditor.Verdict{Landed: 300, Calm: auditor.Calm{Landed: 300, Skipped: skipped}}
		if err := v.Fault(); (err != nil) != fails {
			t.Errorf("%d of 300: %v", skipped, err)
		}
	}
}
