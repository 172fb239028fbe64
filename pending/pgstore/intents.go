package pgstore

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

const intentColumns = `id, account, coalesce(idempotency_key, ''), to_account, value, data, gas, creator, token, created_at, space, ` + termColumns

const termColumns = `speed, max_fee, last_block, valid_until`

// barely returns intentColumns of a row that has an ID and a time, and no more to say.
func barely(id, at string) string {
	return id + `, ''::bytea, '', ''::bytea, 0::numeric, ''::bytea, 0::bigint, '', '', ` + at + `, '', NULL::text, NULL::numeric, 0::bigint, NULL::timestamptz`
}

// terms reads termColumns.
type terms struct {
	speed *string // nil: normal
	most  pgtype.Numeric
	last  int64
	until *time.Time
}

func (t *terms) columns() []any { return []any{&t.speed, &t.most, &t.last, &t.until} }

// read sets what an intent has of them.
func (t *terms) read(in *pending.Intent) (err error) {
	in.MaxFee, in.LastBlock = integer(t.most), uint64(t.last)
	if t.until != nil {
		in.ValidUntil = *t.until
	}
	in.Speed, err = t.how()
	return err
}

func (t *terms) how() (chain.Speed, error) {
	if t.speed == nil {
		return chain.Normal, nil
	}
	return chain.ParseSpeed(*t.speed)
}

// scanIntentWith reads further columns and, after them, those of an intent.
func scanIntentWith(row pgx.CollectableRow, before ...any) (in pending.Intent, err error) {
	var id pgtype.UUID
	var from, to, data []byte
	var value pgtype.Numeric
	var gas int64
	var at time.Time
	var how terms
	columns := append(before, &id, &from, &in.Key, &to, &value, &data, &gas, &in.Creator, &in.Token, &at, &in.Space)
	if err = row.Scan(append(columns, how.columns()...)...); err != nil {
		return in, err
	}
	in.ID, in.Account, in.Created = id.Bytes, chain.Account(from), at
	in.Call = chain.Call{To: to, Value: integer(value), Data: data, Gas: uint64(gas)}
	return in, how.read(&in)
}

func notNull(b []byte) []byte { return append([]byte{}, b...) }

// newID returns a UUID of version 7 (RFC 9562): the time in milliseconds, then random bits. New
// rows are then neighbours in the index. With random bits alone each would dirty its own page of a
// large index, which the log writes out whole after each checkpoint.
func newID(now time.Time) (id pending.ID) {
	_, _ = rand.Read(id[6:]) // never fails since Go 1.24
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now.UnixMilli()))
	copy(id[:6], ms[2:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}
