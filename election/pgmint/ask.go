package pgmint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/internal/pg"
)

// Request is what an operator asks of a scope's leader.
type Request struct {
	Scope   string
	To      string // a candidate to hand the scope to; empty: whoever is first
	Actor   string // written into the history
	Timeout time.Duration
}

// ErrNobodyLeads answers a request for a scope without a leader.
var ErrNobodyLeads = errors.New("nobody leads the scope")

// UnansweredError says that a leader did not take or not finish a request in time.
type UnansweredError struct {
	Scope, Holder string
	Taken         bool
}

func (e *UnansweredError) Error() string {
	if e.Taken {
		return fmt.Sprintf("%s took the request for %q and has not finished it in time: look at `conch history --scope %s`", e.Holder, e.Scope, e.Scope)
	}
	return fmt.Sprintf("%s, which leads %q, did not take the request, and it was withdrawn: is it a conch process, and does it reach the database?", e.Holder, e.Scope)
}

// patience is what a request gets on top of its timeout, for warming and for
// lost notifications.
const patience = warmPatience + 2*commandPoll

// Ask puts a request to the leader of its scope and returns once it is done. It
// reports each step to progress. A request that nobody takes is withdrawn.
func Ask(ctx context.Context, cfg Config, r Request, progress func(string)) error {
	conn, err := pg.Connect(ctx, cfg.pg(" ask"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, `LISTEN `+commandChannel); err != nil {
		return err
	}
	var held Leadership
	o := Observer{conn: conn, cfg: cfg}
	all, err := o.Leaderships(ctx, r.Scope)
	if err != nil {
		return err
	}
	if len(all) == 1 {
		held = all[0]
	}
	if !held.Held {
		return fmt.Errorf("%w %q: `conch status` shows who would like to", ErrNobodyLeads, r.Scope)
	}
	verb := "drain"
	if r.To != "" {
		verb = "transfer"
		if err := checkSuccessor(held, r.To); err != nil {
			return err
		}
	}
	var id int64
	err = conn.QueryRow(ctx, `INSERT INTO conch.command (scope, epoch, verb, to_id, actor, timeout_ms)
		VALUES ($1, $2, $3, $4, $5, $6) RETURNING id`,
		r.Scope, held.Epoch, verb, r.To, r.Actor, r.Timeout.Milliseconds()).Scan(&id)
	if err != nil {
		return err
	}
	progress(fmt.Sprintf("asked %s, which leads %q with epoch %d", held.Holder, r.Scope, held.Epoch))
	return await(ctx, conn, id, held, r.Timeout+patience, progress)
}

func checkSuccessor(held Leadership, to string) error {
	if held.Holder == to {
		return fmt.Errorf("%s leads %q already", to, held.Scope)
	}
	if slices.Contains(held.Candidates, to) {
		return nil
	}
	return fmt.Errorf("%s is no candidate of %q now; these are: %s", to, held.Scope, strings.Join(held.Candidates, ", "))
}

// await follows the row to its end.
func await(ctx context.Context, conn *pgx.Conn, id int64, held Leadership, limit time.Duration, progress func(string)) error {
	over := time.Now().Add(limit)
	said := "asked"
	for {
		var state, result string
		if err := conn.QueryRow(ctx, `SELECT state, result FROM conch.command WHERE id = $1`, id).Scan(&state, &result); err != nil {
			return err
		}
		if state != said {
			progress(map[string]string{
				"warm": "the successor is ready", "taken": "the leader is letting its acts end", "done": "done",
			}[state])
			said = state
		}
		switch state {
		case "done":
			return nil
		case "failed", "expired":
			return fmt.Errorf("%s could not give up %q: %s", held.Holder, held.Scope, result)
		}
		if !time.Now().Before(over) || ctx.Err() != nil {
			return withdraw(context.WithoutCancel(ctx), conn, id, held, state)
		}
		slice, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		_, err := conn.WaitForNotification(slice)
		cancel()
		if err != nil && !pgconn.Timeout(err) && ctx.Err() == nil {
			return err
		}
	}
}

// withdraw takes a request back, so that nobody does it when nobody expects it.
func withdraw(ctx context.Context, conn *pgx.Conn, id int64, held Leadership, state string) error {
	tag, err := conn.Exec(ctx, `UPDATE conch.command SET state = 'expired', done_at = clock_timestamp()
		WHERE id = $1 AND state IN ('asked', 'warm')`, id)
	if err != nil {
		return err
	}
	return &UnansweredError{Scope: held.Scope, Holder: held.Holder, Taken: tag.RowsAffected() == 0 && state != "asked"}
}
