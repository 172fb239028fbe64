package pgops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/internal/pg"
)

// statementPatience is how long a statement may take before its connection counts as dead.
// TCP would wait minutes for a server that a failover left behind; Ask waits longer than this.
const statementPatience = 2 * time.Second

func (e *executor) open(ctx context.Context, scopes []string) ([]openRequest, error) {
	ctx, cancel := context.WithTimeout(ctx, statementPatience)
	defer cancel()
	rows, _ := e.conn.Query(ctx, openSQL, scopes) // they have its error
	return pgx.CollectRows(rows, pgx.RowToStructByPos[openRequest])
}

func (e *executor) exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	ctx, cancel := context.WithTimeout(ctx, statementPatience)
	defer cancel()
	return e.conn.Exec(ctx, sql, args...)
}

// disown closes the requests that this process may have taken: Ask would wait for ever for one that
// is taken and not carried out. If the statement that takes it comes late, it finds the row closed.
func (e *executor) disown(ctx context.Context) bool {
	if len(e.unsure) == 0 {
		return true
	}
	_, err := e.exec(ctx, `UPDATE conch.command SET state = 'failed', result = $2, done_at = clock_timestamp()
		WHERE id = ANY ($1) AND state IN ('asked', 'warm', 'taken')`, e.unsure, "the database did not answer when the request was taken")
	if err == nil {
		e.unsure = nil
	}
	return err == nil
}

// warm runs the role's Warm and records that it is done. Warm may never return, so it runs outside
// the loop, once at a time for a scope, and after warmPatience the leader no longer waits for it.
func (e *executor) warm(ctx context.Context, r openRequest) {
	if e.warming[r.Scope] {
		return
	}
	e.warming[r.Scope] = true
	go func() {
		ctx, cancel := context.WithTimeout(ctx, takePatience)
		defer cancel()
		err := e.leader.Warm(ctx, r.Scope)
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.warming, r.Scope)
		if err == nil && ctx.Err() == nil && e.connect(ctx) {
			_, _ = e.exec(ctx, `UPDATE conch.command SET state = 'warm' WHERE id = $1 AND state = 'asked'`, r.ID)
		}
	}()
}

// carryOut takes a request, does what it asks and writes the result.
func (e *executor) carryOut(ctx context.Context, r openRequest) {
	tag, err := e.exec(ctx, takeSQL, r.ID, takePatience.Milliseconds())
	if err != nil && !pg.SafeToRetry(err) {
		e.unsure = append(e.unsure, r.ID)
	}
	if err != nil || tag.RowsAffected() != 1 {
		return // closed or too old, or perhaps not taken: do not carry it out
	}
	e.busy.Go(func() { // outside the loop: a drain must not delay other scopes
		state, result := "done", ""
		err := e.leader.StepDown(ctx, election.StepDown{
			Scope: r.Scope, Epoch: r.Epoch, Why: fmt.Errorf("%w: asked by %s", election.ErrStepDown, r.Actor),
			Actor: r.Actor, To: r.ToID, Timeout: time.Duration(r.TimeoutMS) * time.Millisecond,
		})
		if err != nil {
			state, result = "failed", err.Error()
		}
		if errors.Is(err, election.ErrDrainTimeout) {
			result = timedOut
		}
		e.answer(context.WithoutCancel(ctx), r.ID, state, result)
	})
}

// answer writes the result for Ask over the open connection, or over a new one if that is busy or
// fails. Each attempt has its own time limit: a silent connection must not use up that of the other.
func (e *executor) answer(ctx context.Context, id int64, state, result string) {
	write := func(conn *pgx.Conn) error {
		ctx, cancel := context.WithTimeout(ctx, requestPoll)
		defer cancel()
		_, err := conn.Exec(ctx, `UPDATE conch.command SET state = $2, result = $3, done_at = clock_timestamp() WHERE id = $1`,
			id, state, pg.Storable(conn.PgConn(), result))
		return err
	}
	if e.mu.TryLock() {
		done := e.conn != nil && write(e.conn) == nil
		e.mu.Unlock()
		if done {
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, requestPoll)
	defer cancel()
	_ = pg.With(ctx, e.cfg.Connection(" admin"), write)
}

// expire closes a request that nobody will carry out.
func (e *executor) expire(ctx context.Context, r openRequest, why string) {
	_, _ = e.exec(ctx, `UPDATE conch.command SET state = 'expired', result = $2, done_at = clock_timestamp()
		WHERE id = $1 AND state IN ('asked', 'warm')`, r.ID, why) // the next pass tries again
}
