package pgmint

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/internal/pg"
)

// Request is what an operator asks of a scope's leader.
type Request struct {
	Scope string
	To    string // a candidate to hand the scope to; empty: whoever is first
	Actor string // written into the history
	// Timeout is for acts to end; 0: as long as the leader is configured to wait.
	Timeout time.Duration
}

const (
	// untaken is how long a leader gets to take a request: time to warm a successor,
	// and to look again where a notification was lost.
	untaken = warmPatience + 2*commandPoll
	// unwritten is how long a leader that is done gets to write that down.
	unwritten = 2 * commandPoll
	// askSlice is how long a lost notification can hide a step.
	askSlice = 200 * time.Millisecond
)

// Ask puts a request to the leader of its scope and returns once it is done: nil
// says that all acts had ended and the scope was released. It reports each step to
// progress, and returns the leadership that it was about, once that was found. A
// request that nobody takes is withdrawn; one that was taken goes on when ctx ends.
//
// Its errors are ErrNobodyLeads, *CandidateError, *UnansweredError and
// *FailedError; others are of the database.
func Ask(ctx context.Context, cfg Config, r Request, progress func(string)) (Leadership, error) {
	a := asking{progress: progress, over: time.Now().Add(untaken)}
	if err := a.put(ctx, cfg, r); err != nil {
		return a.held, err
	}
	defer func() { _ = a.conn.Close(context.WithoutCancel(ctx)) }()
	return a.held, a.await(ctx, r)
}

// asking is one request on its way.
type asking struct {
	conn     *pgx.Conn
	id       int64
	held     Leadership
	state    string
	over     time.Time // when to give it up; zero: not before its leader does
	progress func(string)
}

// put writes the request down, after a look at who leads.
func (a *asking) put(ctx context.Context, cfg Config, r Request) (err error) {
	ctx, cancel := context.WithTimeout(ctx, untaken)
	defer cancel()
	if a.conn, err = pg.Connect(ctx, cfg.pg(" ask")); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = a.conn.Close(context.WithoutCancel(ctx))
		}
	}()
	if _, err := a.conn.Exec(ctx, `LISTEN `+commandChannel); err != nil {
		return err
	}
	o := Observer{conn: a.conn, cfg: cfg}
	all, err := o.Leaderships(ctx, r.Scope)
	if err != nil {
		return err
	}
	if len(all) != 1 || !all[0].Held {
		return fmt.Errorf("%w %q: `conch status` shows who would like to", ErrNobodyLeads, r.Scope)
	}
	a.held = all[0]
	verb := "drain"
	if r.To != "" {
		verb = "transfer"
		if a.held.Holder == r.To || !slices.Contains(a.held.Candidates, r.To) {
			return &CandidateError{Scope: r.Scope, To: r.To, Holder: a.held.Holder, Candidates: a.held.Candidates}
		}
	}
	err = a.conn.QueryRow(ctx, `INSERT INTO conch.command (scope, epoch, verb, to_id, actor, timeout_ms)
		VALUES ($1, $2, $3, $4, $5, $6) RETURNING id`,
		r.Scope, a.held.Epoch, verb, r.To, storable(a.conn.PgConn(), r.Actor), r.Timeout.Milliseconds()).Scan(&a.id)
	if err == nil {
		a.state = "asked"
		a.progress(fmt.Sprintf("asked %s, which leads %q with epoch %d", a.held.Holder, r.Scope, a.held.Epoch))
	}
	return err
}

var steps = map[string]string{"warm": "the successor is ready", "taken": "the leader is letting its acts end", "done": "done"}

// await follows the row to its end.
func (a *asking) await(ctx context.Context, r Request) error {
	for {
		var state, result string
		if err := a.read(ctx, `SELECT state, result FROM conch.command WHERE id = $1`, []any{a.id}, &state, &result); err != nil {
			return err
		}
		if state != a.state {
			if text := steps[state]; text != "" {
				a.progress(text)
			}
			if state == "taken" {
				a.over = time.Time{}
				if r.Timeout > 0 {
					a.over = time.Now().Add(r.Timeout + unwritten)
				}
			}
			a.state = state
		}
		switch state {
		case "done":
			return nil
		case "failed", "expired":
			return &FailedError{Scope: a.held.Scope, Holder: a.held.Holder, Result: result}
		}
		if ctx.Err() != nil || !a.over.IsZero() && !time.Now().Before(a.over) {
			return a.withdraw(context.WithoutCancel(ctx))
		}
		if err := a.next(ctx); err != nil {
			return err
		}
	}
}

// next waits until there may be news. After a silence it looks whether the leader
// is still there to bring any.
func (a *asking) next(ctx context.Context) error {
	slice, cancel := context.WithTimeout(ctx, askSlice)
	defer cancel()
	_, err := a.conn.WaitForNotification(slice)
	switch {
	case err == nil, ctx.Err() != nil:
		return nil // await sees to it
	case !pgconn.Timeout(err):
		return err
	}
	var leads bool
	err = a.read(ctx, leadsSQL, []any{a.held.Scope, a.held.Epoch}, &leads)
	if last := time.Now().Add(unwritten); err == nil && !leads && (a.over.IsZero() || last.Before(a.over)) {
		a.over = last
	}
	return err
}

// read asks in spite of a context that ends: a query cut short would take the
// connection with it, and with that the means to withdraw.
func (a *asking) read(ctx context.Context, sql string, args []any, into ...any) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), untaken)
	defer cancel()
	return a.conn.QueryRow(ctx, sql, args...).Scan(into...)
}

// leadsSQL tells whether that epoch is under way still.
const leadsSQL = `
SELECT EXISTS (
    SELECT FROM conch.leadership l JOIN pg_locks k
        ON k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND (k.classid::bigint << 32) | k.objid::bigint = l.process_key
       AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
     WHERE l.scope = $1 AND l.epoch = $2 AND l.parted_at IS NULL)`

// withdraw takes a request back, so that nobody does it when nobody expects it.
func (a *asking) withdraw(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, commandPoll)
	defer cancel()
	tag, err := a.conn.Exec(ctx, `UPDATE conch.command SET state = 'expired', done_at = clock_timestamp()
		WHERE id = $1 AND state IN ('asked', 'warm')`, a.id)
	if err != nil {
		return err
	}
	return &UnansweredError{Scope: a.held.Scope, Holder: a.held.Holder, Taken: tag.RowsAffected() == 0}
}
