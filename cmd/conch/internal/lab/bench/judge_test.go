//go:build unix

package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// Seven refused sessions do not prove that the eighth was refused.
func TestEverySessionOfTheLoadIsRefused(t *testing.T) {
	t.Parallel()
	stale := fmt.Errorf("writing a row: %w", fence.ErrStale)
	seven := []error{stale, stale, stale, stale, stale, stale, stale}
	if err := refused(append(seven, stale)); err != nil {
		t.Errorf("all were refused: got %v, want nil", err)
	}
	if err := refused(append(seven, nil)); err == nil || !strings.Contains(err.Error(), "session 8 of the load went on") {
		t.Errorf("one went on: got %v, want an error that names it", err)
	}
	if err := refused(append(seven, io.EOF)); !errors.Is(err, io.EOF) {
		t.Errorf("one lost its connection: got %v, want its error", err)
	}
}

// A leader that is killed after its token was over was not killed under load.
func TestAKillCountsForItsOwnTermOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		k    killing
		want bool
	}{
		{killing{epoch: 7, took: time.Millisecond}, true},
		{killing{epoch: 8, took: time.Millisecond}, false}, // the load's token was over before
		{killing{epoch: 7, took: -time.Millisecond}, false},
		{killing{epoch: 7}, false},
	} {
		if c.k.of(7) != c.want {
			t.Errorf("%+v counts for epoch 7: got %t, want the opposite", c.k, !c.want)
		}
	}
}

// A term that is over, or a later one of the same node, is not the term that was found.
func TestOnlyTheTermFoundIsStruck(t *testing.T) {
	t.Parallel()
	cl := &cluster{}
	n := &node{cluster: cl}
	for _, c := range []struct {
		kind  election.Kind
		epoch int64
		still bool
	}{
		{election.Acquired, 7, true},
		{worker.Acted, 7, true},
		{election.Lost, 7, false},
		{election.Acquired, 8, false},
		{election.Acquired, 7, true},
		{election.Draining, 7, false},
	} {
		n.Hear(worker.Report{Kind: c.kind, Epoch: c.epoch})
		if cl.still(n, 7) != c.still {
			t.Errorf("after %s of %d it leads in epoch 7: got %t, want the opposite", c.kind, c.epoch, !c.still)
		}
	}
}

// Two leaders that acted at once are no short handover.
func TestAnOverlapIsNoGap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, evidence.OutsideFile(dir),
		evidence.Act{Epoch: 1, Start: 10, End: 20}, evidence.Act{Epoch: 1, Start: 30, End: 40},
		evidence.Act{Epoch: 2, Start: 50, End: 60}, evidence.Act{Epoch: 3, Start: 90, End: 95})
	// The last row of epoch 1 was acknowledged late, which proves nothing.
	write(t, evidence.AckFile(dir, "one"), evidence.Ack{Epoch: 1, At: 15}, evidence.Ack{Epoch: 1, At: 58})
	write(t, evidence.AckFile(dir, "two"), evidence.Ack{Epoch: 2, At: 55}, evidence.Ack{Epoch: 3, At: 95})
	changes := []change{{1, 2}, {2, 3}}
	rows, acts, err := gaps(dir, changes)
	if err != nil || fmt.Sprint(rows) != "[40ns]" || fmt.Sprint(acts) != "[10ns 30ns]" {
		t.Errorf("got the gaps %v and %v, %v; want 40ns, and 10ns and 30ns", rows, acts, err)
	}
	write(t, evidence.OutsideFile(dir), evidence.Act{Epoch: 1, Start: 45, End: 51})
	if _, _, err = gaps(dir, changes); err == nil || !strings.Contains(err.Error(), "epoch 1 was at work for 1ns after epoch 2 had begun") {
		t.Errorf("epoch 1 acted beside epoch 2: got %v, want an error", err)
	}
}

func write[T any](t *testing.T, path string, all ...T) {
	t.Helper()
	lines, err := evidence.OpenLines(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		err = errors.Join(err, lines.Append(one))
	}
	if err = errors.Join(err, lines.Close()); err != nil {
		t.Fatal(err)
	}
}

// The server may be the caller's, so a database that cannot be dropped must be reported.
func TestADatabaseThatStaysIsReported(t *testing.T) {
	t.Parallel()
	fine := func(string) error { return nil }
	lend := func(drop error) func() (string, func() error, error) {
		return func() (string, func() error, error) { return "postgres://x", func() error { return drop }, nil }
	}
	if err := inNewDatabase(lend(nil), fine); err != nil {
		t.Error(err)
	}
	if err := inNewDatabase(lend(io.ErrUnexpectedEOF), fine); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a database that could not be dropped: got %v, want its error", err)
	}
	err := inNewDatabase(lend(io.ErrUnexpectedEOF), func(string) error { return os.ErrClosed })
	if !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, os.ErrClosed) {
		t.Errorf("both failed: got %v, want both errors", err)
	}
}
