package pgstore_test

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

// What the planner knows of a table that was analyzed in the middle of a term is that
// there is hardly a row of an earlier term, or hardly one that is in no block. A batch is
// still written row by row: whoever reads the rows first that it believes to be few, and
// then the batch for each of them, takes minutes. Counted in rows that an index found.
func TestTheMiddleOfATerm(t *testing.T) {
	t.Parallel()
	const many, batch = 4000, 200
	for name, c := range map[string]struct {
		before pending.Change // of all
		then   string         // happens after the planner has looked
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
			t.Logf("%d rows are looked at for a batch of %d", rows, batch)
			if rows < batch || rows > 3*batch { // the row, and the one that it was before
				t.Errorf("%d rows are looked at for a batch of %d", rows, batch)
			}
		})
	}
}
