package pgstore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
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
					b.Attempts = append(b.Attempts, pending.Slot{Index: i, Before: 1, Attempts: []chain.Signed{
						{Account: pendingtest.Account, Index: i, Hash: hashOf(i + many), Bytes: []byte("b")},
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
				all.New = append(all.New, pending.Slot{Index: i, Attempts: []chain.Signed{
					{Account: pendingtest.Account, Index: i, Hash: hashOf(i), Bytes: []byte("a")},
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
			before := s.rowsRead(d, "pending_transactions")
			s.write(c.write())
			rows := s.rowsRead(d, "pending_transactions") - before
			t.Logf("%d rows were read for a batch of %d", rows, batch)
			if rows < batch || rows > 3*batch { // each row and its old version
				t.Errorf("%d rows were read for a batch of %d, want at most 3 for each", rows, batch)
			}
		})
	}
}

// rowsRead returns how many rows of a table statements have read so far.
func (s shelf) rowsRead(d *pgstore.Database, table string) (n int) {
	s.t.Helper()
	ctx := s.t.Context()
	err := d.Flush(ctx)
	_, other := s.conn.Exec(ctx, `SELECT pg_stat_force_next_flush()`)
	counted := s.conn.QueryRow(ctx, `SELECT (idx_tup_fetch + seq_tup_read)::int FROM pg_stat_user_tables WHERE relname = $1`, table).Scan(&n)
	if err := errors.Join(err, other, counted); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// W19: thousands of intents that are put off slow nothing down, nor do thousands that wait.
func TestTheQueueIsNotReadPastWhatIsPutOff(t *testing.T) {
	t.Parallel()
	const many, most = 5000, 10
	for name, relaxed := range map[string]bool{"strict": false, "relaxed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, d := openShelf(t).narrow()
			fill := func(until string) {
				run(t, s.conn, `INSERT INTO conch.intents (id, chain, account, to_account, value, data, gas, creator, refusals, held_cause, held_since, held_until)
					SELECT gen_random_uuid(), 'evm:1', '`+string(pendingtest.Account)+`', '', 0, '', 0, 'test', 1, (ARRAY['funds', 'unclear'])[1 + n % 2],
					       clock_timestamp() - interval '1 hour', `+until+` FROM generate_series(1, `+fmt.Sprint(many)+`) n`)
			}
			for _, until := range []string{`clock_timestamp() + interval '30 seconds'`, `clock_timestamp() - interval '1 hour'`, `clock_timestamp() + interval '1 hour'`, `NULL`} {
				fill(until)
			}
			run(t, s.conn, `ANALYZE conch.intents`)
			before := s.rowsRead(d, "intents")
			q, err := s.Queue(t.Context(), pendingtest.Account, relaxed, most)
			rows := s.rowsRead(d, "intents") - before
			if err != nil || len(q.Oldest) != most || (q.Saving != nil) != relaxed || rows > 4*most {
				t.Errorf("got %d and one that saves: %v, error %v, by reading %d rows; want %d by reading at most %d", len(q.Oldest), q.Saving != nil, err, rows, most, 4*most)
			}
			before = s.rowsRead(d, "intents")
			w, err := s.Waiting(t.Context(), pendingtest.Account)
			rows = s.rowsRead(d, "intents") - before
			const kinds = 3 // that wait, are due, or were put off by a clock that was ahead
			if err != nil || w.Queued != 1000*kinds || w.Poor != 1000 || w.Unclear != 1000 || rows > 5100 {
				t.Errorf("got %+v, error %v, by reading %d rows; want 1000 of each kind, and that many read", w, err, rows)
			}
		})
	}
}

// A block changes its slots and none of their intents, so no intent is read. To read them took a quarter of the
// database's time for a block.
func TestABlockReadsNoIntent(t *testing.T) {
	t.Parallel()
	const many = 200
	s, d := openShelf(t).narrow()
	var all, block pending.Batch
	for i := range uint64(many) {
		all.New = append(all.New, slotOf(i, s.accept("")))
		block.Changes = append(block.Changes, pending.Change{Index: i, Status: pending.InBlock, Hash: hashOf(i), Block: chain.Block{Number: 9, Hash: "b"}})
	}
	s.write(all)
	run(t, s.conn, `ANALYZE conch.intents, conch.pending_transactions`)
	before, slots := s.rowsRead(d, "intents"), s.rowsRead(d, "pending_transactions")
	s.write(block)
	rows := s.rowsRead(d, "intents") - before
	slots = s.rowsRead(d, "pending_transactions") - slots
	if rows != 0 || slots < many {
		t.Errorf("a block of %d slots read %d intents and %d slots, want no intent and all slots", many, rows, slots)
	}
}

// What is under way to one contract is found without a look at what has ended, or at what is under way to another contract of the
// same account, however much that is.
func TestTheUnfinishedOfOneContractAreFound(t *testing.T) {
	t.Parallel()
	const many, open = 600, 5
	s, d := openShelf(t).narrow()
	accept := func(to string) pending.Intent {
		in, err := s.Accept(t.Context(), pending.Intent{Account: pendingtest.Account, Space: "conch", Call: chain.Call{Gas: 1, To: []byte(to)}})
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	var all, ends pending.Batch
	for i := range uint64(many) {
		all.New = append(all.New, slotOf(i, accept("contract one")))
		if i < many-open {
			ends.Changes = append(ends.Changes, pending.Change{Index: i, Status: pending.Finalized, Intent: pending.Done, Hash: hashOf(i), Block: chain.Block{Number: 9, Hash: "b"}})
		}
	}
	s.write(all)
	s.write(ends)
	for range open {
		accept("contract one")
	}
	run(t, s.conn, `ANALYZE conch.intents, conch.pending_transactions, conch.pending_floors`)
	intents, slots := s.rowsRead(d, "intents"), s.rowsRead(d, "pending_transactions")
	b, err := s.Backlog(t.Context(), pendingtest.Account)
	intents, slots = s.rowsRead(d, "intents")-intents, s.rowsRead(d, "pending_transactions")-slots
	if err != nil || b.Queued != open || b.InFlight != open || intents > 10*open || slots > 10*open {
		t.Errorf("counted %+v, error %v, by reading %d intents and %d slots; want few read", b, err, intents, slots)
	}
	var two pending.Batch
	for i := range uint64(many) {
		if in := accept("contract two"); i%2 == 0 {
			two.New = append(two.New, slotOf(many+i/2, in))
		}
	}
	s.write(two)
	run(t, s.conn, `ANALYZE conch.intents, conch.pending_transactions, conch.pending_floors`)
	intents, slots = s.rowsRead(d, "intents"), s.rowsRead(d, "pending_transactions")
	found, err := s.Unfinished(t.Context(), pendingtest.Account, "conch", []byte("contract one"))
	intents, slots = s.rowsRead(d, "intents")-intents, s.rowsRead(d, "pending_transactions")-slots
	if err != nil || len(found) != 2*open || intents > 10*open || slots > 10*open {
		t.Errorf("found %d, error %v, by reading %d intents and %d slots; want %d, and few read", len(found), err, intents, slots, 2*open)
	}
}
