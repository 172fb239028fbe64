package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/pending"
)

// MostCounted is up to how many events of a receiver are counted.
const MostCounted = 10_000

// HookState says how a receiver of events is.
type HookState struct {
	Name     string
	Behind   time.Duration // the age of the oldest event that it was not told of and that was not refused
	Waiting  int           // events that were refused, and those behind them; MostCounted may be more
	Dead     int           // events that are tried no more; MostCounted may be more
	Failures int           // in a row
	Failing  time.Time     // since when; zero: it does not fail
	Why      string        // of the last failure; others' words
	Seen     time.Time     // when a leader has stored its place last
}

// HookStates returns how all receivers are that were ever told of an event and are not forgotten.
func (d *Database) HookStates(ctx context.Context) (all []HookState, err error) {
	rows, _ := d.pools.Readers.Query(ctx, `
		SELECT h.name, coalesce(extract(epoch FROM statement_timestamp() -
		           (SELECT e.at FROM conch.pending_events e WHERE e.id > h.place AND NOT e.id <@ h.beyond ORDER BY e.id LIMIT 1)), 0)::float8,
		       (SELECT count(*) FROM (SELECT FROM conch.hook_waits w WHERE w.hook = h.name AND w.dead_at IS NULL LIMIT $1) w),
		       (SELECT count(*) FROM (SELECT FROM conch.hook_waits w WHERE w.hook = h.name AND w.dead_at IS NOT NULL LIMIT $1) w),
		       h.failures, h.failing_since, h.why, h.seen_at
		  FROM conch.hooks h ORDER BY h.name`, MostCounted) // they have its error
	var s HookState
	var behind float64
	var failing *time.Time
	_, err = pgx.ForEachRow(rows, []any{&s.Name, &behind, &s.Waiting, &s.Dead, &s.Failures, &failing, &s.Why, &s.Seen}, func() error {
		one := s
		if one.Behind = max(0, seconds(behind)); failing != nil {
			one.Failing = *failing
		}
		all = append(all, one)
		return nil
	})
	return all, err
}

// DeadEvent is an event that a receiver is not told of any more.
type DeadEvent struct {
	Event

	Tries int       // that have failed; 0: the receiver had refused everything for long
	Died  time.Time // when it was given up
	Why   string    // the last failure; others' words
}

// DeadEvents returns up to most events of a receiver that are dead, the latest first.
func (d *Database) DeadEvents(ctx context.Context, receiver string, most int) (all []DeadEvent, err error) {
	rows, _ := d.pools.Readers.Query(ctx, `
		SELECT w.event, w.tries, w.dead_at, w.why, e.at, e.chain, e.account, e.intent, e.version, e.kind
		  FROM (SELECT * FROM conch.hook_waits WHERE hook = $1 AND dead_at IS NOT NULL ORDER BY dead_at DESC, event DESC LIMIT $2) w
		  JOIN conch.pending_events e ON e.id = w.event ORDER BY w.dead_at DESC, w.event DESC`, receiver, most) // they have its error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e DeadEvent, err error) {
		var account []byte
		var intent pgtype.UUID
		var version int64
		var kind string
		err = row.Scan(&e.ID, &e.Tries, &e.Died, &e.Why, &e.At, &e.Chain, &account, &intent, &version, &kind)
		e.Account, e.Intent, e.Version, e.Kind = chain.Account(account), intent.Bytes, uint64(version), pending.Kind(kind)
		return e, err
	})
}

// Replay says which events a receiver is to be told of again: its dead ones, one, or all since a time.
type Replay struct {
	Receiver string
	Dead     bool
	Event    int64     // an ID; 0: not one
	Since    time.Time // by the database's clock; zero: not by time
	Kinds    []pending.Kind
	Accounts []Account // nil: all
	After    int64     // only those with a higher ID
	Most     int
}

// Replay has a receiver told of events again, and of dead ones, up to most of them; last is the highest ID among them. Those that it was not
// told of yet are not among them. They are told as if they were new: in turn for each intent, and for as long; also those of which a POST is
// under way, or confirmed and not noted yet.
func (d *Database) Replay(ctx context.Context, r Replay) (n int, last int64, err error) {
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	count := func(row pgx.Row) error { return row.Scan(&n, &last) }
	if r.Dead {
		batch.Queue(replayDead, r.Receiver, r.After, r.Most).QueryRow(count)
	} else {
		kinds, chains, accounts := []string{}, []string{}, [][]byte{}
		for _, k := range r.Kinds {
			kinds = append(kinds, string(k))
		}
		for _, a := range r.Accounts {
			chains, accounts = append(chains, a.Chain), append(accounts, []byte(a.Account))
		}
		since := pgtype.Timestamptz{Time: r.Since, Valid: r.Event == 0}
		batch.Queue(replayEvents, r.Receiver, r.After, r.Most, r.Event, since, kinds, r.Accounts == nil, chains, accounts).QueryRow(count)
	}
	batch.Queue(headsDue, r.Receiver).Exec(func(pgconn.CommandTag) error { return nil })
	batch.Queue(`SELECT pg_catalog.pg_notify('pending_event', '') WHERE pg_catalog.pg_notification_queue_usage() < 0.5`)
	return n, last, d.pools.Commit(ctx, &batch)
}

const (
	replayDead = `
		WITH revived AS (
			UPDATE conch.hook_waits w SET dead_at = NULL, due_at = NULL, tries = 0, since = clock_timestamp()
			  FROM (SELECT event FROM conch.hook_waits WHERE hook = $1 AND dead_at IS NOT NULL AND event > $2 ORDER BY event LIMIT $3 FOR UPDATE) d
			 WHERE w.hook = $1 AND w.event = d.event
			RETURNING w.event)
		SELECT count(*), coalesce(max(event), 0) FROM revived`

	// What is done is confirmed, or not asked for, or waits: its row is then another one from now on, which a note of an earlier POST does not remove.
	replayEvents = `
		WITH found AS (
			SELECT e.id, e.intent FROM conch.hooks h, conch.pending_events e
			 WHERE h.name = $1 AND e.id > $2 AND (e.id <= h.place OR e.id <@ h.beyond) AND ($4 = 0 OR e.id = $4) AND ($5::timestamptz IS NULL OR e.at >= $5)
			   AND e.kind = ANY ($6) AND ($7 OR (e.chain, e.account) IN (SELECT * FROM unnest($8::text[], $9::bytea[])))
			 ORDER BY e.id LIMIT $3),
		again AS (
			INSERT INTO conch.hook_waits AS w (hook, event, intent, tries, since, why)
			SELECT $1, f.id, f.intent, 0, clock_timestamp(), '' FROM found f
			    ON CONFLICT (hook, event) DO UPDATE SET dead_at = NULL, due_at = NULL, tries = 0, since = clock_timestamp())
		SELECT count(*), coalesce(max(id), 0) FROM found`
)
