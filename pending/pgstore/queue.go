package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

const refusalColumns = `refusals, held_cause, held_why, held_height, held_nonce, held_since, held_until`

// refusal reads refusalColumns.
type refusal struct {
	times        int
	cause, why   string
	height, next int64
	since, until pgtype.Timestamptz
}

func (r *refusal) columns() []any {
	return []any{&r.times, &r.cause, &r.why, &r.height, &r.next, &r.since, &r.until}
}

func (r *refusal) read() (out pending.Refusal, err error) {
	if r.times == 0 {
		return out, nil
	}
	out = pending.Refusal{Why: r.why, Times: r.times, Height: uint64(r.height), Next: uint64(r.next), Since: r.since.Time, Until: r.until.Time}
	return out, out.Cause.UnmarshalText([]byte(r.cause))
}

// Queue implements [pending.Store]. In strict order what was put off in relaxed order is in its old place.
func (s *Store) Queue(ctx context.Context, account chain.Account, relaxed bool, most int) (q pending.Queue, err error) {
	sql, args := strictQueue, []any{s.cfg.Chain, []byte(account), most + 1}
	if relaxed {
		sql, args = relaxedQueue, append(args, pending.SavesAfter)
	}
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return q, err
	}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var saving bool
		var seq int64
		var age time.Duration
		var last refusal
		in, err := scanIntentWith(row, append([]any{&saving, &seq, &age}, last.columns()...)...)
		if err != nil {
			return struct{}{}, err
		}
		w := pending.Waiting{Intent: in, Age: age}
		w.Refusal, err = last.read()
		switch {
		case saving:
			q.Saving = &w
		case len(q.Oldest) == most:
			q.Left = 1 // the number does not matter
		default:
			q.Oldest = append(q.Oldest, w)
		}
		return struct{}{}, err
	})
	return q, err
}

const queueColumns = `seq, coalesce(clock_timestamp() - held_since, '0') AS age, ` + refusalColumns + `, ` + intentColumns

// queue returns a query for the oldest intents that wait or, under a condition and in an order, are put off.
func queue(condition, order string) string {
	return `SELECT false AS saving, q.* FROM (
		(SELECT ` + queueColumns + ` FROM conch.intents WHERE chain = $1 AND account = $2 AND waits ORDER BY seq LIMIT $3)
		 UNION ALL
		(SELECT ` + queueColumns + ` FROM conch.intents WHERE chain = $1 AND account = $2 AND put_off` + condition + ` ORDER BY ` + order + ` LIMIT $3)) q
		 ORDER BY q.seq LIMIT $3`
}

// Of those whose time has come, the ones that have waited for the longest since then are taken: to find the oldest of
// all, all would have to be read. The time is that of the statement, which an index can be asked for.
var (
	strictQueue  = queue(``, `seq`)
	relaxedQueue = `(` + queue(` AND held_until <= statement_timestamp()`, `held_until`) + `)
		 UNION ALL
		(SELECT true, ` + queueColumns + ` FROM conch.intents WHERE chain = $1 AND account = $2 AND put_off AND held_cause = 'funds'
		    AND held_since <= statement_timestamp() - $4::interval ORDER BY seq LIMIT 1)
		 ORDER BY saving, seq`
)

// countQueue counts the intents that are to be tried now, and those that are put off. It stops counting at 1000. The
// orders make the planner take the indexes over them: the rest of the table may be any number of finished rows.
const countQueue = `
	SELECT (SELECT count(*) FROM (
	            (SELECT FROM conch.intents WHERE chain = $1 AND account = $2 AND waits ORDER BY seq LIMIT 1000)
	             UNION ALL
	            (SELECT FROM conch.intents WHERE chain = $1 AND account = $2 AND put_off AND held_until <= statement_timestamp() ORDER BY held_until LIMIT 1000)) q),
	       (SELECT count(*) FROM (SELECT FROM conch.intents WHERE chain = $1 AND account = $2 AND put_off AND held_cause = 'funds'
	           AND held_since <= statement_timestamp() - $3::interval ORDER BY seq LIMIT 1000) q),
	       (SELECT count(*) FROM (SELECT FROM conch.intents WHERE chain = $1 AND account = $2 AND put_off AND held_cause = 'unclear' ORDER BY seq LIMIT 1000) q)`

// Waiting implements [pending.Store]. Polymorphic functions are qualified, because behind a pooler the search_path
// may be anything.
func (s *Store) Waiting(ctx context.Context, account chain.Account) (w pending.Waits, err error) {
	var nonces []int64
	err = s.pool.QueryRow(ctx, `
		SELECT q.*, (SELECT coalesce(pg_catalog.array_agg(nonce), '{}') FROM conch.intents
		         WHERE chain = $1 AND account = $2 AND cancelling)
		  FROM (`+countQueue+`) q(queued, poor, unclear)`,
		s.cfg.Chain, []byte(account), pending.PoorAfter).Scan(&w.Queued, &w.PutOff.Poor, &w.PutOff.Unclear, &nonces)
	for _, n := range nonces {
		w.Cancels = append(w.Cancels, uint64(n))
	}
	return w, err
}

// queueHeld stores why intents got no slot, unless one has ended or got one meanwhile. A clock that was ahead at the
// first time was wrong.
func (s *Store) queueHeld(batch *pgx.Batch, b pending.Batch) {
	for _, h := range b.Held {
		r := h.Refusal
		batch.Queue(`
			UPDATE conch.intents SET refusals = $2, held_cause = $3, held_why = $4, held_height = $5, held_nonce = $6,
			       held_since = CASE WHEN $2 = 1 THEN clock_timestamp() ELSE least(held_since, clock_timestamp()) END,
			       held_until = CASE WHEN $7::interval > '0' THEN clock_timestamp() + $7::interval END
			 WHERE id = $1 AND nonce IS NULL AND fate = 'open'`,
			uuid(&h.Intent), r.Times, r.Cause.String(), storable(r.Why), int64(r.Height), int64(r.Next), h.Pause)
	}
}
