package pgops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Window is a part of the history. Fields at their zero value select nothing.
type Window struct {
	From, To time.Time // events at or after From, and before To
	Before   int64     // events with lower ids
	Scope    string
	Holder   string
	Events   []string // of these kinds
	Text     string   // in scope, holder, reason or actor, in any case of letters
	Most     int      // the newest so many
}

// Window reads events of a part of the history, the oldest first. A Text is looked for in every event that the rest selects: give it a From.
func (o *Observer) Window(ctx context.Context, w Window) ([]Event, error) {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	sql, args := w.sql()
	rows, _ := o.conn.Query(ctx, sql, args...) // they have its error
	told, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e ended, err error) {
		return e, row.Scan(&e.ID, &e.At, &e.Scope, &e.Epoch, &e.Holder, &e.Event.Event, &e.Reason, &e.Actor, &e.beat)
	})
	if err != nil {
		return nil, o.named(ctx, err)
	}
	slices.Reverse(told)
	events, unknown := gaps(told, len(w.Events) == 0 && w.Holder == "" && w.Text == "")
	if len(unknown) == 0 {
		return events, nil
	}
	// Their terms before began before the window.
	whole, err := o.events(ctx, `WHERE id = ANY ($1)`, unknown)
	for _, e := range whole {
		if at, there := slices.BinarySearchFunc(events, e.ID, func(e Event, id int64) int { return int(e.ID - id) }); there {
			events[at].GapMS = e.GapMS
		}
	}
	return events, err
}

// sql selects the events. With times they are found by these alone, and sorted then: to walk back by id through a long history until there
// are enough takes a hundred times as long. Two statements for a scope or none: one for both would walk back in search of a scope with few events.
func (w Window) sql() (sql string, args []any) {
	conditions := []string{`isfinite(at)`}
	with := func(condition string, arg any) {
		args = append(args, arg)
		conditions = append(conditions, fmt.Sprintf(condition, len(args)))
	}
	if !w.From.IsZero() {
		with(`at >= $%d`, w.From)
	}
	if !w.To.IsZero() {
		with(`at < $%d`, w.To)
	}
	if w.Before > 0 {
		with(`id < $%d`, w.Before)
	}
	if w.Scope != "" {
		with(`scope = $%d`, w.Scope)
	}
	if w.Holder != "" {
		with(`holder = $%d`, w.Holder)
	}
	if len(w.Events) > 0 {
		with(`event = ANY ($%d)`, w.Events)
	}
	if w.Text != "" {
		with(`pg_catalog.strpos(pg_catalog.lower(pg_catalog.concat_ws(E'\n', scope, holder, reason, actor)), pg_catalog.lower($%d)) > 0`, w.Text)
	}
	args = append(args, w.Most)
	how := `NOT MATERIALIZED`
	if !w.From.IsZero() && w.Scope == "" {
		how = `MATERIALIZED`
	}
	return fmt.Sprintf(`WITH h AS %s (SELECT * FROM conch.leadership_history WHERE %s)
SELECT id, at, scope, epoch, holder, event, reason, actor, CASE WHEN isfinite(beat_at) THEN beat_at END FROM h ORDER BY id DESC LIMIT $%d`,
		how, strings.Join(conditions, ` AND `), len(args)), args
}

// ended is an event with the last heartbeat of the term that it ends, if it was lost.
type ended struct {
	Event
	beat *time.Time
}

// gaps fills in, in one pass, for how long nobody led before each term: since the first end of the term before; see eventsSQL. It returns the
// terms for which that is not among the events: of all, if these are not whole.
func gaps(told []ended, whole bool) (events []Event, unknown []int64) {
	type term struct{ end *time.Time }
	terms := map[string]*term{} // by scope, the one that began last
	events = make([]Event, 0, len(told))
	for _, e := range told {
		before := terms[e.Scope]
		switch e.Event.Event {
		case "acquired":
			switch {
			case !whole || before == nil:
				unknown = append(unknown, e.ID)
			case before.end != nil:
				e.GapMS = new(milliseconds(e.At.Sub(*before.end)))
			}
			terms[e.Scope] = &term{}
		case "lost", "failed", "released", "drained", "transferred":
			at := e.At
			if e.beat != nil {
				at = *e.beat
			}
			if before != nil && (before.end == nil || at.Before(*before.end)) {
				before.end = &at
			}
		}
		events = append(events, e.Event)
	}
	return events, unknown
}

// milliseconds rounds as Postgres does in a cast: halves away from zero.
func milliseconds(d time.Duration) int64 { return d.Round(time.Millisecond).Milliseconds() }
