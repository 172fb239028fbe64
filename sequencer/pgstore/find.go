package pgstore

import (
	"context"
	"errors"
	"fmt"
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
	ctx, cancel := context.WithTimeout(ctx, lookup)
	defer cancel()
	var number, landed, why []byte
	var confirmed bool
	var block int64
	err = s.db.readers.QueryRow(ctx, findSQL, contract, []byte(key)).Scan(&number, &f.Ended, &confirmed, &landed, &block, &why)
	if errors.Is(err, pgx.ErrNoRows) {
		return sequencer.Found{}, false, nil
	}
	if err != nil {
		return sequencer.Found{}, false, err
	}
	f.Sequence = sequenceOf(number)
	if f.Ended {
		f.Result = sender.Result{Sequence: f.Sequence, Confirmed: confirmed, Assembled: hashOf(landed), Block: uint64(block), Why: string(why)}
	}
	return f, true, nil
}

const findSQL = `
	SELECT sequence, ended, coalesce(confirmed, false), landed, coalesce(block, 0), why
	  FROM conch.sequencer_intents WHERE contract = $1 AND pg_catalog.sha256(key) = pg_catalog.sha256($2) AND key = $2`

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
