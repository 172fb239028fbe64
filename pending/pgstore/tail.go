package pgstore

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/hook"
)

// Event is an event of one of the chains in the database, as it was read.
type Event struct {
	hook.Event

	Token string // the intent's
}

// Tail reads the events of all chains, each once, and those of one intent in the order of their versions. One goroutine may use it.
//
// Of two transactions the one that has drawn the lower ID may be committed later. So an ID that is missing is looked for until every
// transaction has ended that may have drawn it; those above it do not wait for that.
type Tail struct {
	db     *Database
	hook   string // the receiver whose waiting events it looks for; empty: none
	newest int64  // the highest ID that was read
	holes  []hole
}

// hole is IDs that were missing, from first to last.
type hole struct {
	first, last int64
	before      int64 // those that may have drawn them have lower transaction numbers; 0: it is not known yet
}

// Tail returns a Tail of the events with IDs above one, which [Tail.Settled] has returned.
func (d *Database) Tail(after int64) *Tail { return &Tail{db: d, newest: after} }

// recent is how many IDs a transaction may have drawn before the newest that can be read, and not have committed.
const recent = 1000

// TailOfNew returns a Tail of the events that become visible from now on. It may have up to a thousand older ones too.
func (d *Database) TailOfNew(ctx context.Context) (*Tail, error) {
	var newest int64
	err := d.pools.Readers.QueryRow(ctx, `SELECT coalesce(pg_catalog.max(id), 0) FROM conch.pending_events`).Scan(&newest)
	return d.Tail(max(0, newest-recent)), err
}

// Settled returns an ID: Next has returned every event up to it, and there will be no others.
func (t *Tail) Settled() int64 {
	if len(t.holes) > 0 {
		return t.holes[0].first - 1
	}
	return t.newest
}

const (
	// eventColumns are those of an event e and of its intent i, whose key and token never change. An event is behind if an earlier one of its
	// intent waits for the receiver $1.
	eventColumns = `
	       e.id, e.at, e.chain, e.account, e.intent, e.version, e.kind, e.fate, e.nonce, e.hash, e.block_hash, e.block_number, e.effect, e.why,
	       coalesce(i.token, ''), coalesce(i.idempotency_key, ''), coalesce(extract(epoch FROM statement_timestamp() - e.at), 0)::float8,
	       EXISTS (SELECT FROM conch.hook_waits b WHERE b.hook = $1 AND b.intent = e.intent AND b.event < e.id AND b.dead_at IS NULL)`

	ofIntent = `
	  LEFT JOIN LATERAL (SELECT n.token, n.idempotency_key FROM conch.intents n WHERE n.id = e.intent
	                     UNION ALL
	                     SELECT a.token, a.idempotency_key FROM conch.archived_intents a WHERE a.id = e.intent LIMIT 1) i ON true`

	eventsAfter = `
	SELECT s.below,` + eventColumns + `
	  FROM (SELECT pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::text::bigint AS below) s
	  LEFT JOIN LATERAL (
	      (SELECT * FROM conch.pending_events WHERE id > $2 ORDER BY id LIMIT $3)
	       UNION ALL
	      SELECT o.* FROM unnest($4::bigint[], $5::bigint[]) AS h(low, high), conch.pending_events o WHERE o.id BETWEEN h.low AND h.high) e ON true` + ofIntent + `
	 ORDER BY e.id`
)

// Next returns up to most new events, and those that were missing. If there are most of them or more, there are others. It asks once, and
// once more if an ID is missing.
func (t *Tail) Next(ctx context.Context, most int) (events []Event, err error) {
	lows, highs := make([]int64, len(t.holes)), make([]int64, len(t.holes))
	for i, h := range t.holes {
		lows[i], highs[i] = h.first, h.last
	}
	rows, _ := t.db.pools.Readers.Query(ctx, eventsAfter, t.hook, t.newest, most, lows, highs) // they have its error
	var below int64
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		e, is, err := scanEvent(row, &below)
		if is {
			events = append(events, e)
		}
		return struct{}{}, err
	})
	if err != nil {
		return nil, err
	}
	holes, newest := t.holes, t.newest
	for _, e := range events {
		if e.ID <= newest {
			holes = without(holes, e.ID)
			continue
		}
		if e.ID > newest+1 {
			holes = append(holes, hole{first: newest + 1, last: e.ID - 1})
		}
		newest = e.ID
	}
	holes = slices.DeleteFunc(slices.Clone(holes), func(h hole) bool { return h.before > 0 && h.before < below })
	if n := len(holes); n > 0 && holes[n-1].before == 0 {
		var number int64 // drawn now, by a transaction that begins now
		if err := t.db.pools.Readers.QueryRow(ctx, `SELECT pg_catalog.pg_current_xact_id()::text::bigint`).Scan(&number); err != nil {
			return nil, err
		}
		for i := range holes {
			if holes[i].before == 0 {
				holes[i].before = number
			}
		}
	}
	t.holes, t.newest = holes, newest
	return events, nil
}

// without returns the holes without one ID, which is there.
func without(holes []hole, id int64) (left []hole) {
	for _, h := range holes {
		if id < h.first || id > h.last {
			left = append(left, h)
			continue
		}
		if h.first < id {
			left = append(left, hole{h.first, id - 1, h.before})
		}
		if id < h.last {
			left = append(left, hole{id + 1, h.last, h.before})
		}
	}
	return left
}

// scanEvent reads what is before eventColumns, and an event, if the row has one.
func scanEvent(row pgx.CollectableRow, before ...any) (e Event, is bool, err error) {
	var id, version, nonce, number *int64
	var age float64
	var at *time.Time
	var chainID, kind, fate, why *string
	var account, hash, block []byte
	var intent pgtype.UUID
	var effect *string
	err = row.Scan(append(before, &id, &at, &chainID, &account, &intent, &version, &kind, &fate, &nonce, &hash, &block, &number, &effect, &why,
		&e.Token, &e.Key, &age, &e.Behind)...)
	if err != nil || id == nil {
		return e, false, err
	}
	e.ID, e.Chain, e.Age = *id, *chainID, seconds(age)
	e.Event.Event = pending.Event{
		Intent: intent.Bytes, Account: chain.Account(account), Version: uint64(*version), Kind: pending.Kind(*kind), At: *at,
		Hash: chain.Hash(hash), Why: *why,
	}
	if nonce != nil {
		e.Index = new(uint64(*nonce))
	}
	if number != nil {
		e.Block = chain.Block{Number: uint64(*number), Hash: chain.Hash(block)}
	}
	if effect != nil {
		if e.Effect, err = chain.ParseEffect(*effect); err != nil {
			return e, true, err
		}
	}
	return e, true, e.Fate.UnmarshalText([]byte(*fate))
}

// TrimEvents deletes the oldest events if they are older than that by the database's clock, and at most so many.
func (d *Database) TrimEvents(ctx context.Context, age time.Duration, most int) (gone int, err error) {
	err = d.pools.Writers.QueryRow(ctx, `SELECT conch.pending_trim($1, $2)`, age, most).Scan(&gone)
	return gone, err
}
