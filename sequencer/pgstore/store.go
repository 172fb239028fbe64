package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Store is the database of one start of a node. It is a [sequencer.Store], and safe for concurrent use.
type Store struct {
	db    *Database
	token fence.Token
	start int64         // its number
	turn  chan struct{} // held by the write under way
	write int64         // the number of the last one; guarded by turn
}

var _ sequencer.Store = (*Store)(nil)

// Write implements [sequencer.Store], in one round trip and one transaction. The error wraps fence.ErrStale if the
// leadership is over, is ErrLate or ErrTaken, or leaves the outcome unknown: then the same changes may be written again.
func (s *Store) Write(ctx context.Context, changes []core.Change) (twice []core.Twice, err error) {
	all := fold(changes)
	contracts := make([]string, len(all))
	for i, one := range all {
		contracts[i] = one.contract
	}
	err = s.commit(ctx, byIndex, contracts, func(batch *pgx.Batch) error {
		for _, one := range all {
			if err := one.queue(batch, &twice); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return twice, nil
}

// commit has one transaction after the other change rows, each fenced and numbered. Settings follow pg.Durable; what the contracts
// have has to be this node's.
func (s *Store) commit(ctx context.Context, settings string, contracts []string, queue func(*pgx.Batch) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.write++
	var batch pgx.Batch
	batch.Queue(pg.Durable + settings)
	// A stale token undoes all statements after it. It comes first, although the mint then waits for the whole write: else
	// a node that freezes while it sends one could keep its successor from writing for ever, with the lock of its turn. As
	// it is, the successor's mint ends it after a lease.
	pgfence.Queue(&batch, s.token)
	batch.Queue(`SELECT conch.sequencer_turn($1, $2, $3, $4)`, s.token.Scope, s.start, s.write, contracts)
	if err := queue(&batch); err != nil {
		return err
	}
	return translate(s.db.pools.Commit(ctx, &batch))
}

// byIndex makes the planner fetch the rows of a write one by one by their keys, instead of reading a whole table. The
// statements help: they give the contract in every row and not as a constant, or ask in a subquery for one row at a time.
// Of a table that was never analysed the planner believes that a contract has one row, and would compare all its rows
// with the whole write. Compiling costs more than it saves.
const byIndex = `, set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true), set_config('enable_sort', 'off', true), set_config('jit', 'off', true)`

// queue adds the statements of a contract: those that have something to do.
func (s *sum) queue(batch *pgx.Batch, twice *[]core.Twice) error {
	s.queueIntents(batch, twice)
	if err := s.queueContents(batch); err != nil {
		return err
	}
	s.queueGrants(batch)
	s.queueEndings(batch)
	s.queueDispatches(batch)
	s.queueBook(batch)
	return nil
}

// hash returns the bytes of a hash, NULL for the zero one.
func hash(h ledger.Hash) []byte {
	if h == (ledger.Hash{}) {
		return nil
	}
	return h[:]
}

// hashOf is the reverse.
func hashOf(b []byte) (h ledger.Hash) {
	copy(h[:], b)
	return h
}

func sequence(s ledger.Sequence) []byte {
	b := s.Bytes()
	return b[:]
}

// notNull makes nil an empty value, which is stored as one.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
