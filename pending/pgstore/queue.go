package pgstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/internal/rules"
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
		sql, args = relaxedQueue, append(args, rules.LongestPause, rules.SavesAfter)
	}
	place := map[pending.ID]int64{}            // in the order of acceptance
	rows, _ := s.pool.Query(ctx, sql, args...) // they have its error
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var saving bool
		var ready pgtype.Timestamptz
		var seq int64
		var age, left time.Duration
		var late bool
		var last refusal
		in, err := scanIntentWith(row, append([]any{&saving, &ready, &seq, &age, &late, &left}, last.columns()...)...)
		if err != nil {
			return struct{}{}, err
		}
		w := pending.Record{Intent: in, Late: late, Left: left}
		place[in.ID] = seq
		w.Refusal, err = last.read()
		if w.Refusal.Times > 0 {
			w.Refusal.Age = age
		}
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
	slices.SortFunc(q.Oldest, func(a, b pending.Record) int { return cmp.Compare(place[a.ID], place[b.ID]) })
	return q, err
}

// Alike implements [pending.Store].
func (s *Store) Alike(ctx context.Context, account chain.Account, calls []chain.Call) (id pending.ID, err error) {
	var tos, datas [][]byte
	var values []pgtype.Numeric
	for _, call := range calls {
		tos, datas, values = append(tos, notNull(call.To)), append(datas, notNull(call.Data)), append(values, amount(call.Value))
	}
	const alike = `SELECT i.seq, i.id FROM conch.intents i JOIN unnest($3::bytea[], $4::numeric[], $5::bytea[]) AS c(to_account, value, data)
		    ON i.to_account = c.to_account AND i.value = c.value AND i.data = c.data
		 WHERE i.chain = $1 AND i.account = $2 AND `
	var found pgtype.UUID
	err = s.pool.QueryRow(ctx, `SELECT id FROM (`+alike+`i.waits UNION ALL `+alike+`i.put_off) q ORDER BY seq LIMIT 1`,
		s.cfg.Chain, []byte(account), tos, values, datas).Scan(&found)
	if errors.Is(err, pgx.ErrNoRows) {
		return id, nil
	}
	return found.Bytes, err
}

const queueColumns = `seq, coalesce(clock_timestamp() - held_since, '0') AS age, ` + untilColumns + `, ` + refusalColumns + `, ` + intentColumns

// untilColumns say whether an intent is late, and else how long it is not.
const untilColumns = `expiring OR coalesce(valid_until <= clock_timestamp(), false) AS late, greatest('0', coalesce(valid_until - clock_timestamp(), '0')) AS left`

// queued returns a query for the first of the intents under a condition, and since when they could be tried.
func queued(since, condition, order string) string {
	return `(SELECT ` + since + ` AS ready, ` + queueColumns + ` FROM conch.intents WHERE chain = $1 AND account = $2 AND ` + condition + ` ORDER BY ` + order + ` LIMIT $3)`
}

// What is put off is due if its time has come, or if that is later than any pause: then the clock was ahead. The time
// is that of the statement, which an index can be asked for. What was put off by a clock that was ahead comes first: only
// the next refusal says when it is due.
const (
	cameDue  = `put_off AND held_until <= statement_timestamp()`
	wasAhead = `put_off AND held_until > statement_timestamp() + $4::interval`
)

// To find the oldest of those that are due, all would have to be read.
var (
	strictQueue = `SELECT false AS saving, q.* FROM (` + queued(`created_at`, `waits`, `seq`) + ` UNION ALL ` + queued(`created_at`, `put_off`, `seq`) + `) q
		 ORDER BY q.seq LIMIT $3`
	relaxedQueue = `(SELECT false AS saving, q.* FROM (` + queued(`created_at`, `waits`, `seq`) + ` UNION ALL ` +
		queued(`held_until`, cameDue, `held_until`) + ` UNION ALL ` + queued(`'-infinity'::timestamptz`, wasAhead, `held_until`) + `) q
		 ORDER BY q.ready, q.seq LIMIT $3)
		 UNION ALL
		(SELECT true, created_at, ` + queueColumns + ` FROM conch.intents WHERE chain = $1 AND account = $2 AND put_off AND held_cause = 'funds'
		    AND held_since <= statement_timestamp() - $5::interval ORDER BY seq LIMIT 1)
		 ORDER BY saving, ready, seq`
)

// countQueue returns a query that counts the intents that wait or are put off under one of the conditions, and the
// poor and the unclear that are put off. It stops counting at 1000. The orders make the planner take the indexes over them: the
// rest of the table may be any number of finished rows.
func countQueue(conditions ...string) string {
	count := func(condition, order string) string {
		return `(SELECT FROM conch.intents WHERE chain = $1 AND account = $2 AND ` + condition + ` ORDER BY ` + order + ` LIMIT 1000)`
	}
	waiting := []string{count(`waits`, `seq`)}
	for _, condition := range conditions {
		waiting = append(waiting, count(condition, `held_until`))
	}
	return `
	SELECT (SELECT count(*) FROM (` + strings.Join(waiting, ` UNION ALL `) + `) q),
	       (SELECT count(*) FROM ` + count(`put_off AND held_cause = 'funds' AND held_since <= statement_timestamp() - $3::interval`, `seq`) + ` q),
	       (SELECT count(*) FROM ` + count(`put_off AND held_cause = 'unclear'`, `seq`) + ` q)`
}

// Waiting implements [pending.Store]. Polymorphic functions are qualified, because behind a pooler the search_path
// may be anything.
func (s *Store) Waiting(ctx context.Context, account chain.Account) (w pending.Waits, err error) {
	var nonces []int64
	err = s.pool.QueryRow(ctx, `
		SELECT q.*, (SELECT coalesce(pg_catalog.array_agg(nonce), '{}') FROM conch.intents
		         WHERE chain = $1 AND account = $2 AND cancelling)
		  FROM (`+countQueue(cameDue, wasAhead)+`) q(queued, poor, unclear)`,
		s.cfg.Chain, []byte(account), rules.PoorAfter, rules.LongestPause).Scan(&w.Queued, &w.Poor, &w.Unclear, &nonces)
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
			UPDATE conch.intents SET version = version + 1, refusals = $2, held_cause = $3, held_why = $4, held_height = $5, held_nonce = $6,
			       held_since = CASE WHEN $2 = 1 THEN clock_timestamp() ELSE least(held_since, clock_timestamp()) END,
			       held_until = CASE WHEN $7::interval > '0' THEN clock_timestamp() + $7::interval END
			 WHERE id = $1 AND nonce IS NULL AND fate = 'open'`,
			uuid(&h.Intent), r.Times, r.Cause.String(), storable(r.Why), int64(r.Height), int64(r.Next), h.Pause)
	}
}
