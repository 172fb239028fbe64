package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sender"
	"github.com/conchhq/conch/sequencer/wire"
)

// lookup limits a lookup, for which a user or a member waits.
const lookup = 10 * time.Second

// Find implements [sequencer.Store].
func (s *Store) Find(ctx context.Context, contract, key string) (f sequencer.Found, is bool, err error) {
	all, err := s.found(ctx, findSQL, contract, []byte(key))
	if err != nil || len(all) == 0 {
		return sequencer.Found{}, false, err
	}
	return all[0], true, nil
}

// List implements [sequencer.Store].
func (s *Store) List(ctx context.Context, contract string, f sequencer.Filter) ([]sequencer.Found, error) {
	if (f.Sequence != ledger.Sequence{}) {
		return s.found(ctx, oneSQL, contract, sequence(f.Sequence), storable(f.Before))
	}
	return s.found(ctx, listSQL, contract, storable(f.Before), cmp.Or(f.Most, mostListed))
}

// mostListed is how many intents are listed unless a filter says another number.
const mostListed = 100

// storable is the place before which to list. Places are below it if it is 0.
func storable(before uint64) int64 {
	if before == 0 || before > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(before)
}

func (s *Store) found(ctx context.Context, sql string, args ...any) (all []sequencer.Found, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookup)
	defer cancel()
	rows, err := s.db.readers.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	var number, key, payload, landed, why []byte
	var place, deadline, block int64
	var ended, confirmed bool
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&number, &place, &key, &payload, &deadline, &at, &ended, &confirmed, &landed, &block, &why}, func() error {
		one := sequencer.Found{Number: uint64(place), Accepted: at, Ended: ended}
		one.IntentRow = sender.IntentRow{Sequence: sequenceOf(number), Key: string(key), Payload: slices.Clone(payload), Deadline: uint64(deadline)}
		if ended {
			one.Result = sender.Result{Sequence: one.Sequence, Confirmed: confirmed, Assembled: hashOf(landed), Block: uint64(block), Why: string(why)}
		}
		all = append(all, one)
		return nil
	})
	return all, err
}

const (
	foundSQL = `
	SELECT sequence, place, key, payload, deadline, created_at, ended, coalesce(confirmed, false), landed, coalesce(block, 0), why
	  FROM conch.sequencer_intents WHERE contract = $1 AND `
	findSQL = foundSQL + `pg_catalog.sha256(key) = pg_catalog.sha256($2) AND key = $2`
	oneSQL  = foundSQL + `sequence = $2 AND place < $3::bigint`
	listSQL = foundSQL + `place < $2::bigint ORDER BY place DESC LIMIT $3::int`
)

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
	rows, err := s.db.readers.Query(ctx, attemptsSQL, contract, list(assembled))
	if err != nil {
		return nil, err
	}
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
