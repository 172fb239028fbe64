package pgops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
)

// lookEvery is how long a lost notification can hide a step from Ask.
const lookEvery = 200 * time.Millisecond

// Ask sends a request to the leader of its scope and returns once it is done: nil means that all acts
// have ended and the scope is released. It reports each step to progress, and returns the scope as it
// was before. When ctx ends, Ask withdraws a request that is not taken; one that is taken goes on.
//
// Its errors are [ErrNobodyLeads], *[CandidateError], *[EpochError], *[UnansweredError] and *[FailedError];
// any other is from the database.
func Ask(ctx context.Context, cfg pgmint.Config, r Request, progress func(string)) (ScopeStatus, error) {
	s := sentRequest{Request: r, progress: progress, until: time.Now().Add(takePatience)}
	if err := s.send(ctx, cfg); err != nil {
		return s.before, pg.Locked(ctx, cfg.Connection(" ask"), err)
	}
	defer func() { _ = s.conn.Close(context.WithoutCancel(ctx)) }()
	return s.before, pg.Locked(ctx, cfg.Connection(" ask"), s.await(ctx))
}

// sentRequest is a request that Ask has sent.
type sentRequest struct {
	Request
	conn     *pgx.Conn
	id       int64
	before   ScopeStatus // of the scope, when the request was sent
	state    string
	until    time.Time // when Ask gives up; zero: not while the leader lives
	progress func(string)
}

// send inserts the request, if the scope has a leader and To is another candidate or empty.
func (s *sentRequest) send(ctx context.Context, cfg pgmint.Config) (err error) {
	ctx, cancel := context.WithTimeout(ctx, takePatience)
	defer cancel()
	if s.conn, err = pg.Connect(ctx, cfg.Connection(" ask")); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = s.conn.Close(context.WithoutCancel(ctx))
		}
	}()
	if _, err := pg.ListenOn(ctx, s.conn, requestChannel); err != nil { // await looks again and again
		return err
	}
	o := Observer{conn: s.conn, cfg: cfg}
	found, err := o.Scopes(ctx, s.Scope)
	if err != nil {
		return err
	}
	switch {
	case len(found) != 1:
		return fmt.Errorf("pgops: %w %q: nobody has ever led it", ErrNobodyLeads, s.Scope)
	case !found[0].Held:
		return fmt.Errorf("pgops: %w %q", ErrNobodyLeads, s.Scope)
	case s.Epoch != 0 && s.Epoch != found[0].Epoch:
		return &EpochError{Scope: s.Scope, Epoch: found[0].Epoch, Asked: s.Epoch, Holder: found[0].Holder}
	}
	s.before = found[0]
	verb := "drain"
	if s.To != "" {
		verb = "transfer"
		if s.before.Holder == s.To || !slices.Contains(s.before.Candidates, s.To) {
			return &CandidateError{Scope: s.Scope, To: s.To, Holder: s.before.Holder, Candidates: s.before.Candidates}
		}
	}
	err = s.conn.QueryRow(ctx, `INSERT INTO conch.command (scope, epoch, verb, to_id, actor, timeout_ms)
		VALUES ($1, $2, $3, $4, $5, $6) RETURNING id`,
		s.Scope, s.before.Epoch, verb, s.To, pg.Storable(s.conn.PgConn(), s.Actor), s.Timeout.Milliseconds()).Scan(&s.id)
	if err == nil {
		s.state = "asked"
		s.progress(fmt.Sprintf("asked %s, which leads %q with epoch %d", s.before.Holder, s.Scope, s.before.Epoch))
	}
	return err
}

var steps = map[string]string{"warm": "the successor is ready", "taken": "the leader is letting its acts end", "done": "done"}

// await waits for the result of the request.
func (s *sentRequest) await(ctx context.Context) error {
	for {
		var state, result string
		if err := s.read(ctx, `SELECT state, result FROM conch.command WHERE id = $1`, []any{s.id}, &state, &result); err != nil {
			return err
		}
		if state != s.state {
			if text := steps[state]; text != "" {
				s.progress(text)
			}
			if state == "taken" {
				s.until = time.Time{}
				if s.Timeout > 0 {
					s.until = time.Now().Add(s.Timeout + resultPatience)
				}
			}
			s.state = state
		}
		switch state {
		case "done":
			return nil
		case "failed", "expired":
			return &FailedError{Scope: s.Scope, Holder: s.before.Holder, Result: result}
		}
		if ctx.Err() != nil || !s.until.IsZero() && !time.Now().Before(s.until) {
			return s.withdraw(context.WithoutCancel(ctx))
		}
		if err := s.waitForNews(ctx); err != nil {
			return err
		}
	}
}

// waitForNews waits for a notification. If none comes, it checks that the leader still leads.
func (s *sentRequest) waitForNews(ctx context.Context) error {
	slice, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	_, err := s.conn.WaitForNotification(slice)
	switch {
	case err == nil, ctx.Err() != nil:
		return nil // await looks at both
	case !pgconn.Timeout(err):
		return err
	}
	var leads bool
	err = s.read(ctx, leadsSQL, []any{s.Scope, s.before.Epoch}, &leads)
	if last := time.Now().Add(resultPatience); err == nil && !leads && (s.until.IsZero() || last.Before(s.until)) {
		s.until = last
	}
	return err
}

// read ignores the end of ctx: to cancel a query closes the connection, which withdraw needs.
func (s *sentRequest) read(ctx context.Context, sql string, args []any, into ...any) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takePatience)
	defer cancel()
	return s.conn.QueryRow(ctx, sql, args...).Scan(into...)
}

// leadsSQL asks whether the process that leads with that epoch still lives.
const leadsSQL = `
SELECT EXISTS (
    SELECT FROM conch.leadership l JOIN pg_locks k
        ON k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND (k.classid::bigint << 32) | k.objid::bigint = l.process_key
       AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
     WHERE l.scope = $1 AND l.epoch = $2 AND l.parted_at IS NULL)`

// withdraw closes the request, so that no leader takes it later.
func (s *sentRequest) withdraw(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestPoll)
	defer cancel()
	tag, err := s.conn.Exec(ctx, `UPDATE conch.command SET state = 'expired', done_at = clock_timestamp()
		WHERE id = $1 AND state IN ('asked', 'warm')`, s.id)
	if err != nil {
		return err
	}
	return &UnansweredError{Scope: s.Scope, Holder: s.before.Holder, Taken: tag.RowsAffected() == 0}
}
