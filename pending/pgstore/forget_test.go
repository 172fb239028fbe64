package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

func (s shelf) forget(age time.Duration) int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	n, err := s.Forget(ctx, pendingtest.Account, age, 10)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// own accepts an intent of conch's own.
func (s shelf) own(n int) pending.Intent {
	s.t.Helper()
	in, err := s.Accept(s.t.Context(), pending.Intent{Account: pendingtest.Account, Space: "conch", Key: fmt.Sprint("conch:", n), Call: chain.Call{Gas: 1, To: []byte("c")}})
	if err != nil {
		s.t.Fatal(err)
	}
	return in
}

// What has ended of conch's own intents is gone after its time, also from the archive: no row of the account has it. What is
// open stays, and so does all of a user's, the newest slot and what has just ended.
func TestForget(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	own := s.own
	users, archived, done := s.accept("conch:0"), own(0), own(1)
	s.done(0, users)
	s.done(1, archived)
	s.done(2, done)
	if n := s.archive(0); n != 2 {
		t.Fatalf("archived %d intents, want 2: the newest slot stays", n)
	}
	if a, b := s.accept("conch:0"), own(0); a.ID != users.ID || b.ID != archived.ID {
		t.Error("in the archive a user's key and conch's own are not apart")
	}
	late, cancelled, queued, open, rejected := own(2), own(3), own(4), own(5), own(6)
	if err := s.Cancel(t.Context(), cancelled.ID); err != nil {
		t.Fatal(err)
	}
	s.done(3, late)
	s.write(pending.Batch{New: []pending.Slot{slotOf(4, open), slotOf(5, rejected)}, Changes: []pending.Change{{Index: 4, Status: pending.InBlock, Hash: hashOf(4), Block: chain.Block{Number: 1, Hash: "b"}}}})
	second := s.accept("a user's second")
	s.done(6, second)
	s.write(pending.Batch{New: []pending.Slot{slotOf(7, s.accept("the newest"))}})
	if n := s.forget(time.Hour); n != 0 || s.count("intents") != 8 || s.count("archived_intents") != 2 {
		t.Errorf("%d intents were forgotten within their time", n)
	}
	run(t, s.conn, `UPDATE conch.pending_transactions SET updated_at = clock_timestamp() - interval '2 hours' WHERE nonce <> 3;
		UPDATE conch.archived_transactions SET updated_at = clock_timestamp() - interval '2 hours';
		UPDATE conch.intents SET created_at = clock_timestamp() - interval '2 hours';
		UPDATE conch.intents SET fate = 'rejected' WHERE nonce = 5`) // its filler is not final
	if n := s.forget(time.Hour); n != 2 {
		t.Errorf("forgot %d intents at most, want 2: one that is done, and one that was cancelled", n)
	}
	for _, gone := range []pending.Intent{archived, done, cancelled} {
		if r, err := s.Get(t.Context(), gone.ID); !errors.Is(err, pending.ErrNotFound) {
			t.Errorf("%s is still found, as %+v, error %v", gone.Key, r, err)
		}
	}
	for _, stays := range []pending.Intent{users, second, late, queued, open, rejected} {
		if r, err := s.Get(t.Context(), stays.ID); err != nil || r.Key != stays.Key || r.Index != nil && r.Last.Hash == "" {
			t.Errorf("%s is not found as it was, but as %+v: %v", stays.Key, r, err)
		}
	}
	for table, want := range map[string]int{
		"intents": 6, "pending_transactions": 5, "pending_attempts": 5,
		"archived_intents": 1, "archived_transactions": 1, "archived_attempts": 1,
	} {
		if n := s.count(table); n != want {
			t.Errorf("%s has %d rows, want %d", table, n, want)
		}
	}
	run(t, s.conn, `UPDATE conch.pending_transactions SET final = true, state = 'finalized'; UPDATE conch.intents SET fate = 'done' WHERE nonce IS NOT NULL;
		DELETE FROM conch.pending_attempts WHERE nonce > 5; DELETE FROM conch.pending_transactions WHERE nonce > 5`)
	if s.forget(0); s.count("pending_transactions") != 1 {
		t.Error("the newest slot is gone, from which the next nonce is counted")
	}
	if snap, err := s.Load(t.Context(), pendingtest.Account, 9, 100); err != nil || snap.Next != 6 || snap.Queued != 1 {
		t.Errorf("loaded %+v, error %v; want next nonce 6 and one queued", snap, err)
	}
	if again := own(1); again.ID == done.ID {
		t.Error("a forgotten key names what was forgotten")
	}
}

// Neither forgetting nor archiving waits for a lock that somebody has on the table, since all callers of Accept would wait
// behind it; and in batches all of it goes.
func TestForgettingBlocksNobody(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	for i := range 25 {
		s.done(uint64(i), s.own(i))
	}
	tx, err := s.db.Connect(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE conch.intents IN SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	if n := s.forget(0); n != 0 {
		t.Errorf("forgot %d intents of a locked table", n)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{10, 10, 4, 0} {
		if n := s.forget(0); n != want {
			t.Errorf("forgot %d intents, want %d", n, want)
		}
	}
}
