package pgstore

import (
	"context"
	"errors"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/pending"
)

// Accept stores an intent and returns it. For a known key it returns the stored intent, or
// [pending.ErrConflict] if that asks for something else. If 2000 callers wait already, the error is
// [pending.ErrBusy]. If ctx ends before the answer, or the result of the commit is unknown, the
// intent may have been stored.
func (s *Store) Accept(ctx context.Context, in pending.Intent) (pending.Intent, error) {
	return s.AcceptWithin(ctx, in, Reservation{})
}

// AcceptWithin is like [Store.Accept], and takes in the same commit what the intent needs from the limits of a policy. For a known key it
// takes nothing, and answers whatever the limits say now. Otherwise the error is a [*LimitError] if that is too much for one of them, or
// [ErrPolicyChanged]; then nothing was taken or stored.
func (s *Store) AcceptWithin(ctx context.Context, in pending.Intent, take Reservation) (pending.Intent, error) {
	if in.ID == (pending.ID{}) {
		in.ID = newID(time.Now())
	}
	for {
		r := &request{in: in, take: take, done: make(chan struct{})}
		serve, err := s.intake.queue(r)
		if err != nil {
			return in, err
		}
		if serve {
			go s.serve(context.WithoutCancel(ctx))
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			s.intake.leave(r)
			return in, context.Cause(ctx)
		}
		switch {
		case pg.Code(r.err) == codeKeyUsed:
			continue // likewise, and it takes nothing then
		case r.err != nil:
			return in, r.err
		case !r.stored:
			continue // an intent with the same key was committed after the statement began
		case !r.in.Asks(in):
			return r.in, pending.ErrConflict
		}
		return r.in, nil
	}
}

// serve stores batches until no caller waits.
func (s *Store) serve(ctx context.Context) {
	for batch := s.intake.next(); len(batch) > 0; batch = s.intake.next() {
		err := s.insert(ctx, batch)
		if _, is := errors.AsType[*pgconn.PgError](err); is && len(batch) > 1 {
			for i := range batch { // find the one that was refused
				batch[i].err = s.insert(ctx, batch[i:i+1])
			}
			err = nil
		}
		for _, r := range batch {
			r.err = errors.Join(r.err, err)
			close(r.done)
		}
	}
}

// insert stores a batch in one statement, and gives each caller the intent stored under its key.
func (s *Store) insert(ctx context.Context, batch []*request) error {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	sql, arguments := s.inserts(batch)
	var write pgx.Batch
	said := answers{creator: s.cfg.Creator}
	write.Queue(pg.Durable)
	write.Queue(sql, arguments...).Query(said.read)
	if err := s.db.pools.Commit(ctx, &write); err != nil {
		return err
	}
	if len(said.known) > 0 {
		if err := s.confirm(ctx); err != nil {
			return err
		}
	}
	said.give(batch)
	return nil
}

// inserts returns the statement that stores a batch.
func (s *Store) inserts(batch []*request) (sql string, arguments []any) {
	sql, arguments = insertIntents, append([]any{s.cfg.Chain, s.cfg.Creator}, columns(batch)...)
	if takes := newTakes(batch); takes != nil {
		sql, arguments = insertWithin, append(arguments, takes.columns()...)
	}
	return sql, arguments
}

// answers are those to the statement of a batch, by the IDs of its intents.
type answers struct {
	creator  string
	fresh    map[pending.ID]time.Time // stored by it, and when
	known    map[pending.ID]pending.Intent
	verdicts map[pending.ID]verdict
}

func (a *answers) read(rows pgx.Rows) error {
	a.fresh, a.known, a.verdicts = map[pending.ID]time.Time{}, map[pending.ID]pending.Intent{}, map[pending.ID]verdict{}
	_, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var asked pgtype.UUID // NULL if the intent is fresh
		var v verdict
		in, err := scanIntentWith(row, append([]any{&asked}, v.columns()...)...)
		switch {
		case v.word != "":
			a.verdicts[in.ID] = v
		case asked.Valid:
			a.known[asked.Bytes] = in
		default:
			a.fresh[in.ID] = in.Created
		}
		return struct{}{}, err
	})
	return err
}

// give gives each caller the intent that is stored under its key, or why none is.
func (a *answers) give(batch []*request) {
	type key struct{ account, space, key string }
	byKey := map[key]pending.Intent{}
	for _, r := range batch {
		created, fresh := a.fresh[r.in.ID]
		in, known := a.known[r.in.ID]
		at := key{string(r.in.Account), r.in.Space, r.in.Key}
		if fresh {
			in = asStored(r.in, a.creator, created)
			if in.Key != "" {
				byKey[at] = in
			}
		} else if !known { // of two with the same key in one batch, the first was stored
			in, known = byKey[at]
		}
		if r.stored = fresh || known; r.stored {
			r.in = in
		} else if v, judged := a.verdicts[r.in.ID]; judged {
			r.err = v.refusal()
		}
	}
}

// asStored returns an intent as it is read from the row that was made of it.
func asStored(in pending.Intent, creator string, created time.Time) pending.Intent {
	in.Creator, in.Created, in.ValidUntil = creator, created, in.ValidUntil.Truncate(time.Microsecond)
	in.Call.To, in.Call.Data = notNull(in.Call.To), notNull(in.Call.Data)
	if in.Call.Value == nil {
		in.Call.Value = new(big.Int)
	}
	return in
}

// confirm waits until every row that can be read is durable: the server may have stopped waiting
// for the standby when it committed one. A transaction that only reads waits for nothing; this one
// writes, and waits for everything before it in the log.
func (s *Store) confirm(ctx context.Context) error {
	var write pgx.Batch
	write.Queue(pg.Durable)
	write.Queue(`SELECT pg_catalog.pg_logical_emit_message(true, 'conch', ''::pg_catalog.text)`)
	return s.db.pools.Commit(ctx, &write)
}

// insertIntents returns of each new intent, after NULL, its ID and when it was created, since its caller knows the rest; and for each of
// the others, after its ID, the intent that was stored before.
var (
	insertIntents = inserting("", "", "")
	insertWithin  = inserting(reserving, reserved, verdictRows)
)

// inserting returns the statement; with the parts of reserve.go it reserves what the intents take.
func inserting(reserving, reserved, verdicts string) string {
	return `
	WITH asked AS MATERIALIZED (
		SELECT * FROM unnest($3::uuid[], $4::bytea[], $5::text[], $6::bytea[], $7::numeric[], $8::bytea[], $9::bigint[], $10::text[], $11::bigint[], $12::timestamptz[], $13::text[], $14::numeric[], $15::text[])
		    WITH ORDINALITY AS a(id, account, key, to_account, value, data, gas, space, last_block, valid_until, speed, max_fee, token, place)),` + reserving + `
	fresh AS (
		INSERT INTO conch.intents (id, chain, account, idempotency_key, to_account, value, data, gas, creator, space, last_block, valid_until, speed, max_fee, token)
		SELECT id, $1, account, nullif(key, ''), to_account, value, data, gas, $2, space, last_block, valid_until, speed, max_fee, token FROM asked a
		 WHERE (key = '' OR NOT EXISTS (SELECT FROM conch.archived_intents WHERE chain = $1 AND account = a.account AND space = a.space AND idempotency_key = a.key))` + reserved + `
		 ORDER BY place
		    ON CONFLICT (chain, account, space, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
		RETURNING id, chain, account, seq, version, created_at),
	told AS (INSERT INTO conch.pending_events (chain, account, intent, version, kind) SELECT chain, account, id, version, 'accepted' FROM fresh ORDER BY seq)
	SELECT NULL::uuid, ` + noVerdict + barely("id", "created_at") + ` FROM fresh
	 UNION ALL
	SELECT a.id, ` + noVerdict + `i.* FROM asked a, LATERAL (
		SELECT ` + intentColumns + ` FROM conch.intents WHERE chain = $1 AND account = a.account AND space = a.space AND idempotency_key = a.key
		 UNION ALL
		SELECT ` + intentColumns + ` FROM conch.archived_intents WHERE chain = $1 AND account = a.account AND space = a.space AND idempotency_key = a.key) i
	 WHERE a.key <> '' AND NOT EXISTS (SELECT FROM fresh f WHERE f.id = a.id)` + verdicts
}

// columns returns the arguments of insertIntents that have one value for each intent.
func columns(batch []*request) []any {
	var ids []pgtype.UUID
	var accounts, tos, datas [][]byte
	var keys, spaces, tokens []string
	var values []pgtype.Numeric
	var gases, lasts []int64
	var untils []pgtype.Timestamptz
	var speeds []*string
	var fees []pgtype.Numeric
	for _, r := range batch {
		ids = append(ids, uuid(&r.in.ID))
		accounts = append(accounts, []byte(r.in.Account))
		keys = append(keys, r.in.Key)
		tos = append(tos, notNull(r.in.Call.To))
		values = append(values, amount(r.in.Call.Value))
		datas = append(datas, notNull(r.in.Call.Data))
		gases = append(gases, int64(r.in.Call.Gas))
		spaces = append(spaces, r.in.Space)
		lasts = append(lasts, int64(r.in.LastBlock))
		untils = append(untils, pgtype.Timestamptz{Time: r.in.ValidUntil, Valid: !r.in.ValidUntil.IsZero()})
		var speed *string
		if r.in.Speed != chain.Normal {
			speed = new(r.in.Speed.String())
		}
		speeds = append(speeds, speed)
		fees = append(fees, numeric(r.in.MaxFee))
		tokens = append(tokens, r.in.Token)
	}
	return []any{ids, accounts, keys, tos, values, datas, gases, spaces, lasts, untils, speeds, fees, tokens}
}

// amount returns what a call transfers, of which nil is 0.
func amount(value *big.Int) pgtype.Numeric {
	if value == nil {
		value = new(big.Int)
	}
	return numeric(value)
}
