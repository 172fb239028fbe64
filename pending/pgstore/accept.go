package pgstore

import (
	"context"
	"errors"
	"math/big"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/pending"
)

// desk is where callers wait to have intents accepted: who comes while a statement
// is under way goes with the next, all in one commit.
type desk struct {
	mu      sync.Mutex
	waiting []*asked
	serving int // statements under way
}

// asked is one caller's intent and its answer.
type asked struct {
	in  pending.Intent
	err error
	got bool
	end chan struct{}
}

const (
	// clerks are the statements that may be under way at once, each more than one only
	// for a crowd: the fewer there are, the more callers share a commit.
	clerks = 3
	crowd  = 100
	// most is how many intents one statement takes.
	most = 500
	// patience is for one statement, which is more than one caller's.
	patience = 10 * time.Second
)

// Accept stores an intent. The same key again returns the intent stored under it, or
// an error that wraps pending.ErrConflict if the call is another. Callers that come at
// once share a commit. When ctx ends before the answer, the intent may be stored.
func (s *Store) Accept(ctx context.Context, in pending.Intent) (pending.Intent, error) {
	if in.ID == (pending.ID{}) {
		in.ID = newID(time.Now())
	}
	for {
		a := &asked{in: in, end: make(chan struct{})}
		if s.desk.queue(a) {
			go s.serve(context.WithoutCancel(ctx))
		}
		select {
		case <-a.end:
		case <-ctx.Done():
			return in, context.Cause(ctx)
		}
		switch {
		case a.err != nil:
			return in, a.err
		case !a.got:
			continue // its twin was committed after this statement had begun
		case !a.in.Call.Equal(in.Call):
			return a.in, pending.ErrConflict
		}
		return a.in, nil
	}
}

// queue takes a caller in, and tells whether there has to be one more clerk.
func (d *desk) queue(a *asked) (serve bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = append(d.waiting, a)
	if d.serving == clerks || d.serving > 0 && len(d.waiting) < crowd {
		return false
	}
	d.serving++
	return true
}

// next are those who wait; with none the clerk's work has ended.
func (d *desk) next() []*asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(len(d.waiting), most)
	batch := d.waiting[:n:n]
	if d.waiting = d.waiting[n:]; n == 0 {
		d.waiting = nil
		d.serving--
	}
	return batch
}

// serve is a clerk.
func (s *Store) serve(ctx context.Context) {
	for batch := s.desk.next(); len(batch) > 0; batch = s.desk.next() {
		err := s.insert(ctx, batch)
		var refused *pgconn.PgError
		if errors.As(err, &refused) && len(batch) > 1 {
			for i := range batch { // one of them may be what is refused
				batch[i].err = s.insert(ctx, batch[i:i+1])
			}
			err = nil
		}
		for _, a := range batch {
			a.err = errors.Join(a.err, err)
			close(a.end)
		}
	}
}

// insert stores intents in one statement, and gives each what is stored under its key.
func (s *Store) insert(ctx context.Context, batch []*asked) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	rows, err := s.pool.Query(ctx, insertIntents, append([]any{s.cfg.Chain, s.cfg.Creator}, columns(batch)...)...)
	if err != nil {
		return err
	}
	type key struct{ account, key string }
	stored, older := map[pending.ID]pending.Intent{}, map[key]pending.Intent{}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var twin string
		in, err := scanIntentAfter(row, &twin)
		if twin == "" {
			stored[in.ID] = in
		}
		if in.Key != "" { // of twins in one batch, the first was stored
			older[key{string(in.Account), in.Key}] = in
		}
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	for _, a := range batch {
		in, fresh := stored[a.in.ID]
		if !fresh {
			in, fresh = older[key{string(a.in.Account), a.in.Key}]
		}
		if a.got = fresh; fresh {
			a.in = in
		}
	}
	return nil
}

// insertIntents returns the new ones, and those that were stored before under the keys
// of the others, after the key.
const insertIntents = `
	WITH asked AS MATERIALIZED (
		SELECT * FROM unnest($3::uuid[], $4::bytea[], $5::text[], $6::bytea[], $7::numeric[], $8::bytea[], $9::bigint[])
		    WITH ORDINALITY AS a(id, account, key, to_account, value, data, gas, place)),
	fresh AS (
		INSERT INTO conch.intents (id, chain, account, idempotency_key, to_account, value, data, gas, creator)
		SELECT id, $1, account, nullif(key, ''), to_account, value, data, gas, $2 FROM asked a
		 WHERE key = '' OR NOT EXISTS (SELECT FROM conch.archived_intents WHERE chain = $1 AND account = a.account AND idempotency_key = a.key)
		 ORDER BY place
		    ON CONFLICT (chain, account, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
		RETURNING *)
	SELECT '', ` + intentColumns + ` FROM fresh
	 UNION ALL
	SELECT a.key, i.* FROM asked a, LATERAL (
		SELECT ` + intentColumns + ` FROM conch.intents WHERE chain = $1 AND account = a.account AND idempotency_key = a.key
		 UNION ALL
		SELECT ` + intentColumns + ` FROM conch.archived_intents WHERE chain = $1 AND account = a.account AND idempotency_key = a.key) i
	 WHERE a.key <> '' AND NOT EXISTS (SELECT FROM fresh f WHERE f.id = a.id)`

// columns are the arguments of insertIntents that have one value for each intent.
func columns(batch []*asked) []any {
	var ids []pgtype.UUID
	var accounts, tos, datas [][]byte
	var keys []string
	var values []pgtype.Numeric
	var gases []int64
	for _, a := range batch {
		value := a.in.Call.Value
		if value == nil {
			value = new(big.Int)
		}
		ids = append(ids, uuid(&a.in.ID))
		accounts = append(accounts, []byte(a.in.Account))
		keys = append(keys, a.in.Key)
		tos = append(tos, notNull(a.in.Call.To))
		values = append(values, numeric(value))
		datas = append(datas, notNull(a.in.Call.Data))
		gases = append(gases, int64(a.in.Call.Gas))
	}
	return []any{ids, accounts, keys, tos, values, datas, gases}
}
