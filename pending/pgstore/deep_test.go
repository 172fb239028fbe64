package pgstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/pending/pendingtest"
)

// S20: of 200,000 transactions in blocks that are not final, a leader loads the newest and, in the same exchange with the
// database, where the others are. It reads each row of them twice and no attempt, and whatever is beside them in the
// table not at all. The test counts the rows read.
func TestLoadOfMany(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	rows, most := 200_000, 10_000
	if runtest.Nightly() {
		rows = 1_200_000
	}
	s, d := openShelf(t).narrow()
	for _, sql := range []string{
		`ALTER TABLE conch.pending_transactions DISABLE TRIGGER USER`,
		`INSERT INTO conch.pending_transactions (chain, account, nonce, hash, state, since_block, creator, block_number, block_hash)
		 SELECT 'evm:1', $1, g, sha256(g::text::bytea), 'in_block', g / 100, 'x', g / 100, sha256((g / 100)::text::bytea) FROM generate_series(0, $2::int - 1) g`,
		`INSERT INTO conch.pending_transactions (chain, account, nonce, hash, state, since_block, creator, final)
		 SELECT 'evm:1', $1::bytea || '\x00'::bytea, g, sha256(g::text::bytea), 'future', g / 100, 'x', g % 2 = 0 FROM generate_series(1, $2::int) g`,
		`INSERT INTO conch.pending_attempts (chain, account, nonce, n, hash, signed, gas, filler)
		 SELECT 'evm:1', $1, g, 1, sha256(g::text::bytea), decode(repeat('00', 170), 'hex'), 1, false FROM generate_series(0, $2::int - 1) g`,
		`ANALYZE conch.pending_transactions, conch.pending_attempts`,
	} {
		args := []any{[]byte(pendingtest.Account), rows}
		if sql[0] == 'A' {
			args = nil
		}
		if _, err := s.conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	fetched := func() (transactions, attempts int) {
		err := d.Flush(t.Context())
		_, other := s.conn.Exec(t.Context(), `SELECT pg_stat_force_next_flush()`)
		counted := s.conn.QueryRow(t.Context(), `SELECT sum(idx_tup_fetch + seq_tup_read) FILTER (WHERE relname = 'pending_transactions')::int,
			sum(idx_tup_fetch + seq_tup_read) FILTER (WHERE relname = 'pending_attempts')::int FROM pg_stat_user_tables`).Scan(&transactions, &attempts)
		if err := errors.Join(err, other, counted); err != nil {
			t.Fatal(err)
		}
		return transactions, attempts
	}
	store, trips := s.Trips()
	for try := range 7 { // from the sixth on, the server may use a plan that fits any account
		*trips = 0
		transactions, attempts := fetched()
		began := time.Now()
		snap, err := store.Load(t.Context(), pendingtest.Account, 1<<62, most)
		took := time.Since(began)
		if err != nil || len(snap.Slots) != most || len(snap.Runs) != (rows-most)/100 || snap.Next != uint64(rows) {
			t.Fatalf("loaded %d slots and %d runs, error %v; want %d and %d", len(snap.Slots), len(snap.Runs), err, most, (rows-most)/100)
		}
		if last := snap.Runs[len(snap.Runs)-1]; last.Last != uint64(rows-most-1) || last.First != last.Last-99 {
			t.Errorf("the last run is %+v, want one of 100 up to %d", last, rows-most-1)
		}
		after, also := fetched()
		transactions, attempts = after-transactions, also-attempts
		t.Logf("try %d: Load of %d took %v and read %d rows of transactions, %d of attempts", try+1, rows, took, transactions, attempts)
		if *trips != 1 || transactions > 2*rows+6*most || attempts > most {
			t.Errorf("%d exchanges, %d rows of transactions and %d of attempts, want 1, at most %d and %d", *trips, transactions, attempts, 2*rows+6*most, most)
		}
	}
	*trips = 0
	transactions, attempts := fetched()
	slots, err := store.Slots(t.Context(), pendingtest.Account, 1000, 1999)
	after, also := fetched()
	if err != nil || len(slots) != 1000 || *trips != 1 || after-transactions > 1000 || also-attempts > 1000 {
		t.Errorf("a page has %d slots, error %v, and read %d rows of transactions and %d of attempts; want 1000", len(slots), err, after-transactions, also-attempts)
	}
}
