package pgstore_test

import (
	"testing"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

// What is promised is durable.
func TestWhatIsPromisedIsDurable(t *testing.T) {
	t.Parallel()
	pgtest.Durable(t, func(t *testing.T, db *pgtest.DB, cfg pg.Config) {
		t.Helper()
		shelf{opened(t, cfg, 2).Store("evm:1", "test"), t, db, db.Connect(t)}.promise()
	}, "INSERT intents", "UPDATE intents", "DELETE intents", "INSERT pending_accounts", "UPDATE pending_accounts", "INSERT pending_transactions",
		"UPDATE pending_transactions")
}

// promise makes each kind of write.
func (s shelf) promise() {
	s.t.Helper()
	one, no := s.accept("1"), s.accept("no")
	if err := s.Cancel(s.t.Context(), no.ID); err != nil {
		s.t.Error(err)
	}
	s.done(0, one)
	s.write(pending.Batch{New: []pending.Slot{slotOf(1, s.accept("2"))}, Rejects: []pending.Hold{{Intent: s.accept("3").ID, Why: "no"}}})
	if err := s.Settle(s.t.Context(), fence.Token{Scope: "s", Epoch: 2}, pendingtest.Account, writes.Add(1)); err != nil {
		s.t.Error(err)
	}
	if n := s.archive(0); n == 0 {
		s.t.Error("nothing was archived")
	}
}
