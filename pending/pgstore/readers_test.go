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

// waiting is how many sessions wait for a lock in this database.
func (s shelf) waiting() (n int) {
	s.t.Helper()
	err := s.conn.QueryRow(s.t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// However many look transactions up, and however long that takes, a leader and whoever
// accepts go on beside them; and many lists leave room for who asks for one.
func TestReadersHoldNobodyUp(t *testing.T) {
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
				t.Error("a list that nobody could have read")
			}
		})
	}
	pgtest.Eventually(t, 30*time.Second, "two lists are being read", func() bool { return s.waiting() == 2 })
	for range 40 {
		readers.Go(func() { _, _ = s.Get(ctx, in.ID) })
	}
	pgtest.Eventually(t, 30*time.Second, "and one intent alone", func() bool { return s.waiting() == 3 })
	if _, err := s.Load(ctx, pendingtest.Account, 0); err != nil {
		t.Error(err)
	}
	if _, _, err := s.Queue(ctx, pendingtest.Account, 9); err != nil {
		t.Error(err)
	}
	s.write(pending.Batch{New: []pending.Slot{slotOf(0, in)}})
	s.accept("second")
	if n := s.waiting(); n != 3 {
		t.Errorf("%d wait for the lock", n)
	}
}

// There is an end to how many wait to have something accepted, and who has gone waits no
// more.
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
	var crew sync.WaitGroup
	for range cap(refused) {
		crew.Go(func() {
			if _, err := s.Accept(ctx, pending.Intent{Account: pendingtest.Account}); !errors.Is(err, context.Canceled) {
				refused <- err
			}
		})
	}
	if err := wait(t, refused); !errors.Is(err, pending.ErrBusy) {
		t.Errorf("one more: %v", err)
	}
	if n := s.InIntake(); n > pgstore.MaxWaiting {
		t.Errorf("%d wait", n)
	}
	giveUp()
	pgtest.Within(t, time.Minute, "who has gone waits no more", crew.Wait)
	if n := s.InIntake(); n != 0 {
		t.Errorf("%d wait who have gone", n)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.accept("later")
}
