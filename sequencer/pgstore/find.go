package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// lookup limits a lookup, for which a user or a member waits.
const lookup = 10 * time.Second

// Find implements [sequencer.Store].
func (s *Store) Find(ctx context.Context, contract, key string) (f sequencer.Found, is bool, err error) {
	all, err := s.find(ctx, findByKey, contract, []byte(key))
	if err != nil || len(all) == 0 {
		return f, false, err
	}
	return all[0], true, nil
}

// List implements [sequencer.Store].
func (s *Store) List(ctx context.Context, contract string, f sequencer.Filter) ([]sequencer.Found, error) {
	before, most := int64(math.MaxInt64), cmp.Or(f.Most, mostListed)
	if f.Before > 0 {
		before = int64(min(f.Before, math.MaxInt64))
	}
	if f.Sequence != (ledger.Sequence{}) {
		return s.find(ctx, findBySequence, contract, sequence(f.Sequence), before)
	}
	return s.find(ctx, findNewest, contract, before, most)
}

// mostListed is how many intents are listed unless a filter says another number.
const mostListed = 100

const (
	find           = `SELECT sequence, key, payload, deadline, place, created_at, ended, coalesce(confirmed, false), landed, coalesce(block, 0), why FROM conch.sequencer_intents WHERE contract = $1`
	findByKey      = find + ` AND pg_catalog.sha256(key) = pg_catalog.sha256($2) AND key = $2`
	findBySequence = find + ` AND sequence = $2 AND place < $3`
	findNewest     = find + ` AND place < $2 ORDER BY place DESC LIMIT $3`
)

func (s *Store) find(ctx context.Context, sql string, args ...any) (all []sequencer.Found, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookup)
	defer cancel()
	var batch pgx.Batch
	batch.Queue(inOrder) // or a list of the newest reads all, and sorts them
	batch.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
		all, err = found(rows)
		return err
	})
	return all, s.db.pools.Readers.SendBatch(ctx, &batch).Close()
}

func found(rows pgx.Rows) (all []sequencer.Found, err error) {
	var number, key, payload, landed, why []byte
	var accepted time.Time
	var ended, confirmed bool
	var deadline, place, block int64
	columns := []any{&number, &key, &payload, &deadline, &place, &accepted, &ended, &confirmed, &landed, &block, &why}
	_, err = pgx.ForEachRow(rows, columns, func() error {
		f := sequencer.Found{
			Sequence: sequenceOf(number), Key: string(key), Payload: payload, Deadline: uint64(deadline),
			Number: uint64(place), Accepted: accepted, Ended: ended,
		}
		if ended {
			f.Result = ledger.Result{Sequence: f.Sequence, Confirmed: confirmed, Assembled: hashOf(landed), Block: uint64(block), Why: string(why)}
		}
		all = append(all, f)
		return nil
	})
	return all, err
}

const attemptsSQL = `
	SELECT n.hash, a.contents FROM ` + hashes + `
	 CROSS JOIN LATERAL (SELECT contents FROM conch.sequencer_attempts WHERE contract = n.contract AND assembled = n.hash OFFSET 0) a`

// Attempts implements [sequencer.Store].
func (s *Store) Attempts(ctx context.Context, contract string, assembled []ledger.Hash) (found []wire.Whole, err error) {
	if len(assembled) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookup)
	defer cancel()
	rows, _ := s.db.pools.Readers.Query(ctx, attemptsSQL, contract, list(assembled)) // they have its error
	var name, contents []byte
	_, err = pgx.ForEachRow(rows, []any{&name, &contents}, func() error {
		w, err := wire.DecodeWhole(contents)
		if err != nil {
			return fmt.Errorf("the contents of attempt %v: %w", hashOf(name), err)
		}
		found = append(found, w)
		return nil
	})
	return found, err
}
