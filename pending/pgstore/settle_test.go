package pgstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

// Settle waits for a write that the server is carrying out.
func TestSettlingWaitsForWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	store := opened(t, db.Config(), 4).Store("evm:1", "test")
	conn, watch := db.Connect(t), db.Connect(t)
	const claim = `SELECT conch.pending_claim('evm:1', $1, 's', 2, $2)`
	if _, err := conn.Exec(t.Context(), claim, []byte(pendingtest.Account), 6); err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), claim, []byte(pendingtest.Account), 7); err != nil {
		t.Fatal(err)
	}
	settled := make(chan error, 1)
	go func() {
		settled <- store.Settle(t.Context(), fence.Token{Scope: "s", Epoch: 2}, pendingtest.Account, 8)
	}()
	pgtest.Eventually(t, 20*time.Second, "Settle waits for the write", func() bool {
		var waits bool
		err := watch.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.datname = current_database())`).Scan(&waits)
		return err == nil && waits
	})
	select {
	case err := <-settled:
		t.Fatalf("Settle returned %v while the write goes on", err)
	default:
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-settled; err != nil {
		t.Error(err)
	}
}

// A nonce that the tables cannot hold does not give ErrOvertaken, after which the leader would try
// again in silence.
func TestANonceTooLargeForTheTables(t *testing.T) {
	t.Parallel()
	store := open(t)
	in, err := store.Accept(t.Context(), pending.Intent{Account: pendingtest.Account})
	if err != nil {
		t.Fatal(err)
	}
	one := pending.Slot{Index: 1 << 63, Intent: &in.ID, Attempts: []chain.Signed{{Hash: "h", Bytes: []byte("b")}}}
	err = store.Write(t.Context(), fence.Token{Scope: "s", Epoch: 2}, pending.Batch{Account: pendingtest.Account, New: []pending.Slot{one}})
	if err == nil || errors.Is(err, pending.ErrOvertaken) {
		t.Errorf("got error %v, want one other than ErrOvertaken", err)
	}
}
