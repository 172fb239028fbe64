package worker_test

import (
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
	"github.com/conchhq/conch/election"
)

// What is said of an earlier term changes nothing.
func TestAWorkerIsAsLastReported(t *testing.T) {
	t.Parallel()
	var s worker.Seen
	for i, c := range []struct {
		kind          election.Kind
		epoch, leads  int64
		acted, inside bool
	}{
		{election.Acquired, 7, 7, false, false},
		{worker.Acted, 6, 7, false, false},
		{worker.Acted, 7, 7, true, false},
		{election.Entered, 7, 7, true, true},
		{worker.Pulse, 0, 7, true, true},
		{election.Draining, 7, 0, false, false},
		{election.Acquired, 9, 9, false, false},
		{election.Lost, 9, 0, false, false},
	} {
		s.Hear(worker.Report{Kind: c.kind, Epoch: c.epoch, At: 1, Rows: 5})
		if s.Epoch != c.leads || (s.Acted != 0) != c.acted || (s.Inside != 0) != c.inside {
			t.Errorf("after report %d it is seen as %+v, want %+v", i, s, c)
		}
	}
	if s.Pulse.Rows != 5 {
		t.Errorf("its last pulse is %+v, want that it has 5 rows", s.Pulse)
	}
	if _, is := worker.Read([]byte("no report")); is {
		t.Error("a line that is no report is read as one")
	}
	if r, is := worker.Read([]byte(`{"kind":"acted","epoch":4}`)); !is || r.Kind != worker.Acted || r.Epoch != 4 {
		t.Errorf("read %+v", r)
	}
}
