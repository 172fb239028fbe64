//go:build linux

package bench

import (
	"context"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// A leader that goes on writing slows the plain lock measured beside it, but is dead during conch's
// own takeover.
func TestNobodyWritesBesideThePlainLock(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	program, err := proctest.Build("conch-lab", "../../../conch-lab", proctest.Stamp...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // for measuring; the build has its own limit
	t.Cleanup(cancel)
	cfg := Config{Program: program, Lease: time.Second, Quick: true, Say: func(string, ...any) {}}
	s, err := openSite(ctx, cfg)
	t.Cleanup(func() {
		if err := s.Clear(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := crashes(ctx, cfg, s, &r); err != nil {
		t.Fatal(err)
	}
	acks, err := evidence.ReadAcks(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[int64]int{}
	for _, a := range acks {
		rows[a.Epoch]++
	}
	if len(rows) <= cfg.amounts().kills {
		t.Errorf("got rows of %d terms after %d kills, want more", len(rows), cfg.amounts().kills)
	}
	for epoch, n := range rows {
		if n > 1 {
			t.Errorf("the leader of epoch %d wrote %d rows beside the plain lock", epoch, n)
		}
	}
}
