package pgstore_test

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

// A batch is written row by row, even if the table was analysed in the middle of a term, when
// hardly any row is of an earlier term or in no block. A plan that reads first the rows it believes
// to be few, and the whole batch for each, takes minutes. The test counts the rows read.
func TestTheMiddleOfATerm(t *testing.T) {
	t.Parallel()
	const many, batch = 4000, 200
	for name, c := range map[string]struct {
		before pending.Change // the state of all slots
		then   string         // runs after ANALYZE
		write  func() pending.Batch
	}{
		"states": {
			before: pending.Change{Status: pending.Future},
			write: func() (b pending.Batch) {
				for i := range uint64(batch) {
					b.Changes = append(b.Changes, pending.Change{Index: i, Status: pending.InBlock, Hash: hashOf(i), Block: chain.Block{Number: 9, Hash: "b"}})
				}
				return b
			},
		},
		"further attempts": {
			before: pending.Change{Status: pending.InBlock, Block: chain.Block{Number: 9, Hash: "b"}},
			then:   `UPDATE conch.pending_transactions SET block_hash = NULL, block_number = NULL`,
			write: func() (b pending.Batch) {
				for i := range uint64(batch) {
					b.Attempts = append(b.Attempts, pending.Slot{Index: i, Before: 1, Attempts: []pending.Attempt{
						{Signed: chain.Signed{Account: pendingtest.Account, Index: i, Hash: hashOf(i + many), Bytes: []byte("b")}},
					}})
				}
				return b
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, d := openShelf(t).narrow()
			var all pending.Batch
			for i := range uint64(many) {
				all.New = append(all.New, pending.Slot{Index: i, Attempts: []pending.Attempt{
					{Signed: chain.Signed{Account: pendingtest.Account, Index: i, Hash: hashOf(i), Bytes: []byte("a")}},
				}})
				change := c.before
				change.Index, change.Hash = i, hashOf(i)
				all.Changes = append(all.Changes, change)
			}
			s.write(all)
			run(t, s.conn, `ANALYZE conch.pending_transactions, conch.pending_attempts`)
			if c.then != "" {
				run(t, s.conn, c.then)
			}
			found := func() (n int) {
				err := d.Flush(t.Context())
				_, other := s.conn.Exec(t.Context(), `SELECT pg_stat_force_next_flush()`)
				counted := s.conn.QueryRow(t.Context(), `SELECT (idx_tup_fetch + seq_tup_read)::int FROM pg_stat_user_tables
					WHERE relname = 'pending_transactions'`).Scan(&n)
				if err := errors.Join(err, other, counted); err != nil {
					t.Fatal(err)
				}
				return n
			}
			before := found()
			s.write(c.write())
			rows := found() - before
			t.Logf("%d rows were read for a batch of %d", rows, batch)
			if rows < batch || rows > 3*batch { // each row and its old version
				t.Errorf("%d rows were read for a batch of %d, want at most 3 for each", rows, batch)
			}
		})
	}
}
