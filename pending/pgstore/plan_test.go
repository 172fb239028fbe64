package pgstore_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// What the planner knows of a table that was analyzed in the middle of a term is that
// there is hardly a row of an earlier term, or hardly one that is in no block. A batch is
// still written row by row: whoever reads the rows first that it believes to be few, and
// then the batch for each of them, takes minutes. Counted in pages.
func TestTheMiddleOfATerm(t *testing.T) {
	t.Parallel()
	const many, batch = 4000, 200
	for name, c := range map[string]struct {
		before pending.Change // of all
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
			s := openShelf(t)
			pool, err := pgxpool.New(t.Context(), s.db.URL+"&pool_max_conns=1")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			s.Store = pgstore.New(pgstore.Config{Pool: pool, Chain: "evm:1", Creator: "test"})
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
			pages := func() (n int) {
				_, err := pool.Exec(t.Context(), `SELECT pg_stat_force_next_flush()`)
				scanned := s.conn.QueryRow(t.Context(), `SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::int
					FROM pg_statio_user_tables WHERE relname = 'pending_transactions'`).Scan(&n)
				if err := errors.Join(err, scanned); err != nil {
					t.Fatal(err)
				}
				return n
			}
			before := pages()
			s.write(c.write())
			touched := (pages() - before) / batch
			t.Logf("%d pages for each row", touched)
			if touched > 50 {
				t.Errorf("%d pages are touched for each row that is written", touched)
			}
		})
	}
}
