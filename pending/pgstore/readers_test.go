package pgstore_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// waiting returns the number of sessions of this database that wait for a lock.
func (s shelf) waiting() (n int) {
	s.t.Helper()
	err := s.conn.QueryRow(s.t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// Slow readers, however many, delay neither a leader nor Accept, and many slow lists leave room for
// a caller that asks for one intent.
func TestReadersBlockNobody(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	in := s.accept("first")
	ctx, giveUp := context.WithTimeout(t.Context(), time.Minute)
	var readers sync.WaitGroup
	defer pgtest.Within(t, time.Minute, "the readers end", readers.Wait)
	defer giveUp()
	tx, err := s.db.Connect(t).Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `LOCK TABLE conch.archived_transactions IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	for range 40 {
		readers.Go(func() {
			if _, err := s.List(ctx, pending.Filter{State: "dropped", Most: 1}); err == nil {
				t.Error("a list succeeded although its table is locked")
			}
		})
	}
	pgtest.Eventually(t, 30*time.Second, "two lists are being read", func() bool { return s.waiting() == 2 })
	for range 40 {
		readers.Go(func() { _, _ = s.Get(ctx, in.ID) })
	}
	pgtest.Eventually(t, 30*time.Second, "one intent is being read beside them", func() bool { return s.waiting() == 3 })
	if _, err := s.Load(ctx, pendingtest.Account, 0, 100); err != nil {
		t.Error(err)
	}
	if _, err := s.Queue(ctx, pendingtest.Account, true, 9); err != nil {
		t.Error(err)
	}
	s.write(pending.Batch{New: []pending.Slot{slotOf(0, in)}})
	s.accept("second")
	if n := s.waiting(); n != 3 {
		t.Errorf("%d sessions wait for the lock, want the 3 readers", n)
	}
}

// The number of callers that wait in Accept is bounded, and a caller that gives up leaves.
func TestTheIntakeIsBounded(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	tx, err := s.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE conch.intents IN EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	refused := make(chan error, 3*pgstore.MaxWaiting)
	var callers sync.WaitGroup
	for range cap(refused) {
		callers.Go(func() {
			if _, err := s.Accept(ctx, pending.Intent{Account: pendingtest.Account}); !errors.Is(err, context.Canceled) {
				refused <- err
			}
		})
	}
	if err := wait(t, refused); !errors.Is(err, pending.ErrBusy) {
		t.Errorf("one caller too many: got error %v, want ErrBusy", err)
	}
	if n := s.InIntake(); n > pgstore.MaxWaiting {
		t.Errorf("%d callers wait, want at most %d", n, pgstore.MaxWaiting)
	}
	giveUp()
	pgtest.Within(t, time.Minute, "callers that give up return", callers.Wait)
	if n := s.InIntake(); n != 0 {
		t.Errorf("%d callers wait after they gave up, want 0", n)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.accept("later")
}
