package pgstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/pending/hook"
)

// Hook keeps how far one receiver of events has been told. It is a [hook.Store]: one goroutine may use it.
type Hook struct {
	db    *Database
	name  string
	token fence.Token
	tail  *Tail
}

var _ hook.Store = (*Hook)(nil)

// Hook returns the store of a receiver for the leader that has the token.
func (d *Database) Hook(name string, t fence.Token) *Hook { return &Hook{db: d, name: name, token: t} }

// Open implements [hook.Store].
func (h *Hook) Open(ctx context.Context) (at hook.Place, health hook.Health, err error) {
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	batch.Queue(openHook, h.name).QueryRow(func(row pgx.Row) error {
		var firsts, afters []int64
		var failing float64
		err := row.Scan(&at.UpTo, &firsts, &afters, &health.Failures, &failing, &health.Why)
		for i, first := range firsts {
			at.Beyond = append(at.Beyond, [2]int64{first, afters[i] - 1})
		}
		health.For = seconds(failing)
		return err
	})
	pgfence.Queue(&batch, h.token)
	if err := translate(h.db.pools.Commit(ctx, &batch)); err != nil {
		return at, health, err
	}
	h.tail = h.db.Tail(at.UpTo)
	h.tail.hook = h.name
	return at, health, nil
}

const openHook = `
	INSERT INTO conch.hooks AS h (name, place) VALUES ($1, (SELECT coalesce(pg_catalog.max(id), 0) FROM conch.pending_events))
	    ON CONFLICT (name) DO UPDATE SET seen_at = clock_timestamp()
	RETURNING place, ARRAY(SELECT lower(r) FROM unnest(h.beyond) AS r ORDER BY 1), ARRAY(SELECT upper(r) FROM unnest(h.beyond) AS r ORDER BY 1),
	          failures, coalesce(extract(epoch FROM clock_timestamp() - failing_since), 0)::float8, why`

// Turn implements [hook.Store].
func (h *Hook) Turn(ctx context.Context, t hook.Turn) (out hook.Turned, err error) {
	if t.Note != nil {
		if out.Died, err = h.note(ctx, *t.Note); err != nil {
			return out, err
		}
	}
	if t.Waits > 0 {
		if err := h.waits(ctx, t, &out); err != nil {
			return out, err
		}
	}
	if t.Events > 0 {
		events, err := h.tail.Next(ctx, t.Events)
		if err != nil {
			return out, err
		}
		for _, e := range events {
			out.Events = append(out.Events, e.Event)
		}
	}
	out.Settled = h.tail.Settled()
	return out, nil
}

// note stores a note in one transaction, and returns how many events are dead by it.
func (h *Hook) note(ctx context.Context, n hook.Note) (died int, err error) {
	var batch pgx.Batch
	batch.Queue(pg.Durable + byIndex)
	var failing *time.Duration
	if n.Health.Failures > 0 {
		failing = &n.Health.For
	}
	batch.Queue(noteHook, h.name, n.Place.UpTo, multirange(n.Place.Beyond), n.Health.Failures, failing, storable(n.Health.Why))
	if len(n.Gone) > 0 {
		ids, puts := make([]int64, len(n.Gone)), make([]time.Time, len(n.Gone))
		for i, g := range n.Gone {
			ids[i], puts[i] = g.ID, g.At
		}
		batch.Queue(goneSQL, h.name, ids, puts)
	}
	parks := make([]pgtype.UUID, 0, len(n.Park))
	rows := newWaitRows(len(n.Park))
	for _, p := range n.Park {
		rows.add(p.Again, p.Since)
		parks = append(parks, uuid(&p.Intent))
		died += count(p.Dead)
	}
	if len(parks) > 0 {
		batch.Queue(parkSQL, h.name, rows.ids, parks, rows.tries, rows.since, rows.pauses, rows.whys, rows.dead)
	}
	rows = newWaitRows(len(n.Again))
	for _, a := range n.Again {
		rows.add(a, 0)
		died += count(a.Dead)
	}
	if len(rows.ids) > 0 {
		batch.Queue(againSQL, h.name, rows.ids, rows.tries, rows.pauses, rows.whys, rows.dead)
	}
	if n.Aged {
		batch.Queue(agedSQL, h.name, hook.GiveUp).Exec(func(tag pgconn.CommandTag) error { died += int(tag.RowsAffected()); return nil })
	}
	h.queueHeads(&batch, n)
	pgfence.Queue(&batch, h.token)
	return died, translate(h.db.pools.Commit(ctx, &batch))
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// queueHeads makes the first event of each intent due that has no pause. Without intents it looks at all that wait, so that nothing waits for
// ever behind what is there no more.
func (h *Hook) queueHeads(batch *pgx.Batch, n hook.Note) {
	if n.Aged || len(n.Intents) == 0 {
		batch.Queue(headsDue, h.name)
		return
	}
	intents := make([]pgtype.UUID, 0, len(n.Intents))
	for _, id := range n.Intents {
		intents = append(intents, uuid(&id))
	}
	batch.Queue(headsDue+` AND w.intent = ANY ($2)`, h.name, intents)
}

// waitRows are the columns of rows that are written together.
type waitRows struct {
	ids    []int64
	tries  []int
	since  []time.Duration
	pauses []time.Duration
	whys   []string
	dead   []bool
}

func newWaitRows(n int) *waitRows {
	return &waitRows{ids: make([]int64, 0, n), whys: make([]string, 0, n)}
}

func (r *waitRows) add(a hook.Again, since time.Duration) {
	r.ids, r.tries, r.since = append(r.ids, a.ID), append(r.tries, a.Tries), append(r.since, since)
	r.pauses, r.whys, r.dead = append(r.pauses, a.Pause), append(r.whys, storable(a.Why)), append(r.dead, a.Dead)
}

const (
	isFirst = `
		   AND NOT EXISTS (SELECT FROM conch.hook_waits b WHERE b.hook = w.hook AND b.intent = w.intent AND b.event < w.event AND b.dead_at IS NULL)`

	headsDue = `
		UPDATE conch.hook_waits w SET due_at = clock_timestamp()
		 WHERE w.hook = $1 AND w.dead_at IS NULL AND w.due_at IS NULL` + isFirst

	noteHook = `
		UPDATE conch.hooks SET place = $2, beyond = $3::text::int8multirange, failures = $4, failing_since = clock_timestamp() - $5::interval, why = $6,
		       seen_at = clock_timestamp() WHERE name = $1`

	// A row that is there already is that of a note which was stored without an answer, or of a replay.
	parkSQL = `
		INSERT INTO conch.hook_waits AS w (hook, event, intent, tries, since, due_at, why, dead_at)
		SELECT $1, p.id, p.intent, p.tries, clock_timestamp() - p.since, CASE WHEN p.pause > '0' THEN clock_timestamp() + p.pause END, p.why,
		       CASE WHEN p.dead THEN clock_timestamp() END
		  FROM unnest($2::bigint[], $3::uuid[], $4::int[], $5::interval[], $6::interval[], $7::text[], $8::boolean[]) AS p(id, intent, tries, since, pause, why, dead)
		    ON CONFLICT (hook, event) DO UPDATE SET tries = excluded.tries, due_at = excluded.due_at, why = excluded.why, dead_at = excluded.dead_at`

	// One that was put there again after it was posted stays: by a replay.
	goneSQL = `
		DELETE FROM conch.hook_waits w USING unnest($2::bigint[], $3::timestamptz[]) AS g(event, since)
		 WHERE w.hook = $1 AND w.event = g.event AND w.since = g.since`

	againSQL = `
		UPDATE conch.hook_waits w SET tries = a.tries, due_at = CASE WHEN NOT a.dead THEN clock_timestamp() + a.pause END, why = a.why,
		       dead_at = CASE WHEN a.dead THEN clock_timestamp() END
		  FROM unnest($2::bigint[], $3::int[], $4::interval[], $5::text[], $6::boolean[]) AS a(id, tries, pause, why, dead)
		 WHERE w.hook = $1 AND w.event = a.id`

	agedSQL = `
		UPDATE conch.hook_waits SET due_at = NULL, dead_at = clock_timestamp()
		 WHERE hook = $1 AND dead_at IS NULL AND since <= clock_timestamp() - $2::interval`
)

// multirange writes ranges of IDs, from the first to the last of each.
func multirange(all [][2]int64) string {
	var parts []string
	for _, one := range all {
		parts = append(parts, fmt.Sprintf("[%d,%d]", one[0], one[1]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

const (
	// One that is due may have got one before it since: an event that was in memory when it became due, and was refused then; or a replay.
	waitsDue = `
		SELECT w.since, w.tries, extract(epoch FROM statement_timestamp() - w.since)::float8,` + eventColumns + `
		  FROM (SELECT * FROM conch.hook_waits w WHERE hook = $1 AND dead_at IS NULL AND due_at <= statement_timestamp() AND NOT event = ANY ($2)` + isFirst + `
		         ORDER BY due_at, event LIMIT $3) w
		  JOIN conch.pending_events e ON e.id = w.event` + ofIntent + ` ORDER BY w.due_at, w.event`

	nextDue = `
		SELECT coalesce(extract(epoch FROM pg_catalog.min(due_at) - statement_timestamp()), 0)::float8 FROM conch.hook_waits
		 WHERE hook = $1 AND dead_at IS NULL AND due_at > statement_timestamp()`
)

// waits reads events that are due, and when the next one is.
func (h *Hook) waits(ctx context.Context, t hook.Turn, out *hook.Turned) error {
	var batch pgx.Batch
	batch.Queue(waitsDue, h.name, append([]int64{}, t.Without...), t.Waits).Query(func(rows pgx.Rows) (err error) {
		out.Waits, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (w hook.Wait, err error) {
			var since float64
			e, _, err := scanEvent(row, &w.Put.At, &w.Tries, &since)
			w.Event, w.Put.ID, w.Since = e.Event, e.ID, seconds(since)
			return w, err
		})
		return err
	})
	batch.Queue(nextDue, h.name).QueryRow(func(row pgx.Row) error {
		var left float64
		err := row.Scan(&left)
		out.NextDue = seconds(left)
		return err
	})
	return h.db.pools.Readers.SendBatch(ctx, &batch).Close()
}
