//go:build unix

package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// Of eight sessions seven that were refused do not speak for the eighth.
func TestEverySessionOfTheLoadIsRefused(t *testing.T) {
	t.Parallel()
	stale := fmt.Errorf("writing a row: %w", fence.ErrStale)
	seven := []error{stale, stale, stale, stale, stale, stale, stale}
	if err := refused(append(seven, stale)); err != nil {
		t.Errorf("all were refused: %v", err)
	}
	if err := refused(append(seven, nil)); err == nil || !strings.Contains(err.Error(), "session 8 of the load went on") {
		t.Errorf("one went on: %v", err)
	}
	if err := refused(append(seven, io.EOF)); !errors.Is(err, io.EOF) {
		t.Errorf("one lost its connection: %v", err)
	}
}

// Whoever was killed after its token was over was not killed under load.
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
			t.Errorf("%+v counts for epoch 7: %t", c.k, !c.want)
		}
	}
}

// A term that is over, or a later one of the same node's, is not the one that was found.
func TestOnlyTheTermThatWasFoundIsStruck(t *testing.T) {
	t.Parallel()
	q := &squad{}
	q.heard = sync.NewCond(&q.mu)
	n := &node{squad: q}
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
		n.hear(fleet.News{Report: worker.Report{Kind: c.kind, Epoch: c.epoch}})
		if q.still(n, 7) != c.still {
			t.Errorf("after %s of %d it leads in epoch 7: %t", c.kind, c.epoch, !c.still)
		}
	}
}

// What two leaders left behind that acted at once is no short handover.
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
		t.Errorf("the gaps are %v and %v, %v", rows, acts, err)
	}
	write(t, evidence.OutsideFile(dir), evidence.Act{Epoch: 1, Start: 45, End: 51})
	if _, _, err = gaps(dir, changes); err == nil || !strings.Contains(err.Error(), "epoch 1 was at work for 1ns after epoch 2 had begun") {
		t.Errorf("epoch 1 acted beside epoch 2: %v", err)
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

// The server may be the caller's: a database that stays there is said.
func TestADatabaseThatStaysIsSaid(t *testing.T) {
	t.Parallel()
	fine := func(string) error { return nil }
	lend := func(drop error) func() (string, func() error, error) {
		return func() (string, func() error, error) { return "postgres://x", func() error { return drop }, nil }
	}
	if err := borrowed(lend(nil), fine); err != nil {
		t.Error(err)
	}
	if err := borrowed(lend(io.ErrUnexpectedEOF), fine); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a database that could not be dropped: %v", err)
	}
	err := borrowed(lend(io.ErrUnexpectedEOF), func(string) error { return os.ErrClosed })
	if !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, os.ErrClosed) {
		t.Errorf("both failed: %v", err)
	}
}
