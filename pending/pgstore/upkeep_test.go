package pgstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// What has finished is archived for every account of the database, a batch at a time, under the token of a scope that is none of theirs; a stale one moves nothing.
func TestTrimWalksAllAccounts(t *testing.T) {
	t.Parallel()
	s, db := openShelf(t).narrow()
	for i := range 3 {
		s.done(uint64(i), s.accept(fmt.Sprint(i)))
	}
	s.accept("open")
	other := db.Store("evm:2", "test")
	in, err := other.Accept(t.Context(), pending.Intent{Account: pendingtest.Account, Call: chain.Call{Gas: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Write(t.Context(), current, pending.Batch{Account: pendingtest.Account, Number: writes.Add(1), Rejects: []pending.Hold{{Intent: in.ID, Why: "no"}}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.Trim(t.Context(), fence.Token{Scope: "s", Epoch: 1}, 0, 1, nil); !errors.Is(err, fence.ErrStale) || s.count("archived_intents") != 0 {
		t.Errorf("under a stale token: %v, want ErrStale and nothing moved", err)
	}
	if moved, next, err := db.Trim(t.Context(), current, time.Hour, 1, nil); moved != 0 || next == nil || next.Chain != "evm:1" || err != nil {
		t.Errorf("moved %d too early, next is %v, %v", moved, next, err)
	}
	says := ""
	for next, more := (*pgstore.Account)(nil), true; more && len(says) < 100; more = next != nil {
		var moved int
		if moved, next, err = db.Trim(t.Context(), current, 0, 1, next); err != nil {
			t.Fatal(err)
		}
		says += fmt.Sprint(moved, " ")
	}
	if want := "1 1 0 1 0 0 "; says != want || s.count("archived_transactions") != 2 || s.count("archived_intents") != 3 {
		t.Errorf("moved %s, want %s: two slots of one account, since the newest stays, and an intent of the other", says, want)
	}
}

// Intents that wait are counted by chain, those that are put off too, with the age of the oldest.
func TestBacklogs(t *testing.T) {
	t.Parallel()
	s, db := openShelf(t).narrow()
	if got, err := db.Backlogs(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("an empty table: %v, %v", got, err)
	}
	old := s.accept("old")
	s.accept("new")
	s.done(0, s.accept("done"))
	pgtest.Exec(t, s.conn, `UPDATE conch.intents SET created_at = created_at - interval '1 hour', held_until = now() + interval '1 hour' WHERE id = $1`, [16]byte(old.ID))
	got, err := db.Backlogs(t.Context())
	if err != nil || len(got) != 1 || got[0].Chain != "evm:1" || got[0].N != 2 || got[0].Oldest < time.Hour || got[0].Oldest > 2*time.Hour {
		t.Errorf("got %+v, %v; want two of evm:1, an hour old", got, err)
	}
}
