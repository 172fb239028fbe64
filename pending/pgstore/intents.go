package pgstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

const intentColumns = `SELECT id, account, coalesce(idempotency_key, ''), to_account, value, data, gas, creator, created_at`

func scanIntent(row pgx.CollectableRow) (in pending.Intent, err error) {
	var id pgtype.UUID
	var from, to, data []byte
	var value pgtype.Numeric
	var gas int64
	var at time.Time
	err = row.Scan(&id, &from, &in.Key, &to, &value, &data, &gas, &in.Creator, &at)
	in.ID, in.Account, in.Created = id.Bytes, account(from), at
	in.Call = chain.Call{To: to, Value: integer(value), Data: data, Gas: uint64(gas)}
	return in, err
}

// Accept stores an intent. The same key again returns the intent stored under it, or
// an error that wraps pending.ErrConflict if the call is another.
func (s *Store) Accept(ctx context.Context, in pending.Intent) (pending.Intent, error) {
	if in.ID == (pending.ID{}) {
		in.ID = newID()
	}
	value := in.Call.Value
	if value == nil {
		value = new(big.Int)
	}
	rows, err := s.pool.Query(ctx, `
		WITH fresh AS (
			INSERT INTO conch.intents (id, chain, account, idempotency_key, to_account, value, data, gas, creator)
			VALUES ($1, $2, $3, nullif($4, ''), $5, $6, $7, $8, $9)
			    ON CONFLICT (chain, account, idempotency_key) DO NOTHING
			RETURNING *)
		`+intentColumns+` FROM fresh UNION ALL
		`+intentColumns+` FROM conch.intents WHERE chain = $2 AND account = $3 AND idempotency_key = nullif($4, '')
		  AND NOT EXISTS (SELECT FROM fresh)`,
		uuid(&in.ID), s.cfg.Chain, []byte(in.Account), in.Key, notNull(in.Call.To), numeric(value), notNull(in.Call.Data),
		int64(in.Call.Gas), s.cfg.Creator)
	if err != nil {
		return in, err
	}
	stored, err := pgx.CollectExactlyOneRow(rows, scanIntent)
	if errors.Is(err, pgx.ErrNoRows) && in.Key != "" {
		return s.Accept(ctx, in) // its twin was committed after this statement had begun
	}
	if err == nil && !sameCall(stored.Call, in.Call) {
		return stored, pending.ErrConflict
	}
	return stored, err
}

func notNull(b []byte) []byte { return append([]byte{}, b...) }

func sameCall(a, b chain.Call) bool {
	zero := new(big.Int)
	av, bv := a.Value, b.Value
	if av == nil {
		av = zero
	}
	if bv == nil {
		bv = zero
	}
	return bytes.Equal(a.To, b.To) && bytes.Equal(a.Data, b.Data) && av.Cmp(bv) == 0 && a.Gas == b.Gas
}

// newID is a random UUID, version 4.
func newID() (id pending.ID) {
	_, _ = rand.Read(id[:])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}
