package pgmint

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/internal/pg"
)

// commandChannel announces changes of conch.command, as id:state.
const commandChannel = "conch_command"

const (
	commandPoll = 2 * time.Second // repairs a lost notification
	// warmPatience is how long the leader waits for the successor of a transfer to
	// be ready before it goes ahead without.
	warmPatience = 2 * time.Second
	// commandPatience is how long a statement may take before its connection counts as
	// dead: a server that fell silent, or was left by a failover, would be waited for
	// until TCP gives it up, in minutes. Whoever asks waits longer than that.
	commandPatience = 2 * time.Second
)

// timedOut is the result of an order when acts had not ended in time.
const timedOut = "given up, but acts had not ended in time: the successor waits as after a crash"

// Leader is what commands are carried out on; *election.Elector is one.
type Leader interface {
	Snapshot() []election.Status
	StepDown(ctx context.Context, s election.StepDown) error
	Warm(ctx context.Context, scope string) error
}

// Obey carries out what operators ask through conch.command, for every scope
// that the leader leads, until ctx ends. The id is the candidate's, to know which
// transfers are to it. Trouble with the database only delays it. It returns when what
// it gave up is answered for, and does not wait for a Warm that goes on after ctx.
func Obey(ctx context.Context, cfg Config, id string, leader Leader) {
	o := obeyer{cfg: cfg, id: id, leader: leader, warming: map[string]bool{}}
	defer o.close()
	defer o.busy.Wait()
	nudge := make(chan struct{}, 1)
	poke := func() {
		select {
		case nudge <- struct{}{}:
		default:
		}
	}
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		_ = pg.Listen(ctx, cfg.pg(" commands"), []string{commandChannel},
			pg.ListenFuncs{Up: poke, Notify: func(string, string) { poke() }})
	}()
	defer func() { <-listening }()
	tick := time.NewTicker(commandPoll)
	defer tick.Stop()
	for ctx.Err() == nil {
		o.pass(ctx)
		select {
		case <-ctx.Done():
		case <-nudge:
		case <-tick.C:
		}
	}
}

type obeyer struct {
	cfg     Config
	id      string
	leader  Leader
	mu      sync.Mutex // of conn and warming, which the loop and those who carry out orders share
	conn    *pgx.Conn
	warming map[string]bool // the scopes whose Warm has not returned
	unsure  []int64         // orders that were perhaps taken, and are not carried out
	busy    sync.WaitGroup  // orders being carried out
}

func (o *obeyer) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = o.conn.Close(ctx)
		o.conn = nil
	}
}

// pass looks at what is open and does its part of it.
func (o *obeyer) pass(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.connect(ctx) || !o.disown(ctx) {
		return // the next tick tries again
	}
	led := map[string]election.Status{}
	var scopes []string
	for _, s := range o.leader.Snapshot() {
		scopes = append(scopes, s.Scope)
		if s.Leading {
			led[s.Scope] = s
		}
	}
	orders, err := o.open(ctx, scopes)
	if err != nil {
		return
	}
	for _, c := range orders {
		status, leading := led[c.Scope]
		switch {
		case leading && c.Epoch < status.Token.Epoch:
			o.expire(ctx, c, fmt.Sprintf("that leadership, with epoch %d, is over", c.Epoch))
		case c.age() > orphaned:
			o.expire(ctx, c, "nobody took it in time, and whoever asked did not withdraw it")
		case c.age() > untaken: // whoever asked is about to withdraw it
		case leading && status.Token.Epoch == c.Epoch && !c.waitsForSuccessor():
			o.carryOut(ctx, c)
		case !leading && c.Verb == "transfer" && c.ToID == o.id && c.State == "asked":
			o.warm(ctx, c)
		}
	}
}

func (o *obeyer) connect(ctx context.Context) bool {
	if o.conn != nil && !o.conn.IsClosed() {
		return true
	}
	conn, err := pg.Connect(ctx, o.cfg.pg(" commands"))
	if err == nil {
		o.conn = conn
	}
	return err == nil
}

func (o *obeyer) open(ctx context.Context, scopes []string) ([]order, error) {
	ctx, cancel := context.WithTimeout(ctx, commandPatience)
	defer cancel()
	rows, err := o.conn.Query(ctx, openOrders, scopes)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[order])
}

func (o *obeyer) exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	ctx, cancel := context.WithTimeout(ctx, commandPatience)
	defer cancel()
	return o.conn.Exec(ctx, sql, args...)
}

// disown answers the orders of which nobody knows whether they were taken: a row that
// says so, and that nobody carries out, would be waited for without end. A statement
// that is still on its way finds the row closed.
func (o *obeyer) disown(ctx context.Context) bool {
	if len(o.unsure) == 0 {
		return true
	}
	_, err := o.exec(ctx, `UPDATE conch.command SET state = 'failed', result = $2, done_at = clock_timestamp()
		WHERE id = ANY ($1) AND state IN ('asked', 'warm', 'taken')`, o.unsure, "the database did not answer when the request was taken")
	if err == nil {
		o.unsure = nil
	}
	return err == nil
}

// warm gets ready to succeed and says so. That is the role's own code, which may never
// return: it runs beside the loop, once at a time for a scope, and nobody waits for it.
// The leader goes ahead without it soon; it may go on until the order is off for sure.
func (o *obeyer) warm(ctx context.Context, c order) {
	if o.warming[c.Scope] {
		return
	}
	o.warming[c.Scope] = true
	go func() {
		ctx, cancel := context.WithTimeout(ctx, untaken)
		defer cancel()
		err := o.leader.Warm(ctx, c.Scope)
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.warming, c.Scope)
		if err == nil && ctx.Err() == nil && o.connect(ctx) {
			_, _ = o.exec(ctx, `UPDATE conch.command SET state = 'warm' WHERE id = $1 AND state = 'asked'`, c.ID)
		}
	}()
}

// carryOut takes an order for itself, does it and writes down how it ended.
func (o *obeyer) carryOut(ctx context.Context, c order) {
	tag, err := o.exec(ctx, takeOrder, c.ID, untaken.Milliseconds())
	if err != nil && !pg.SafeToRetry(err) {
		o.unsure = append(o.unsure, c.ID)
	}
	if err != nil || tag.RowsAffected() != 1 {
		return // expired or too old meanwhile, or unknown: not taken for sure, so not done
	}
	o.busy.Go(func() { // beside the loop: a drain takes its time, other scopes go on
		state, result := "done", ""
		err := o.leader.StepDown(ctx, election.StepDown{
			Scope: c.Scope, Epoch: c.Epoch, Why: fmt.Errorf("%w: asked by %s", election.ErrStepDown, c.Actor),
			Actor: c.Actor, To: c.ToID, Timeout: time.Duration(c.TimeoutMS) * time.Millisecond,
		})
		if err != nil {
			state, result = "failed", err.Error()
		}
		if errors.Is(err, election.ErrDrainTimeout) {
			result = timedOut
		}
		o.answer(context.WithoutCancel(ctx), c.ID, state, result)
	})
}

// answer writes down how an order ended: over the connection that is there, since
// whoever asked waits for this, and over a new one if that is busy or fails. Each has
// a time of its own: one that is silent must not use up the other's.
func (o *obeyer) answer(ctx context.Context, id int64, state, result string) {
	write := func(conn *pgx.Conn) error {
		ctx, cancel := context.WithTimeout(ctx, commandPoll)
		defer cancel()
		_, err := conn.Exec(ctx, `UPDATE conch.command SET state = $2, result = $3, done_at = clock_timestamp() WHERE id = $1`, id, state, storable(conn.PgConn(), result))
		return err
	}
	if o.mu.TryLock() {
		done := o.conn != nil && write(o.conn) == nil
		o.mu.Unlock()
		if done {
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, commandPoll)
	defer cancel()
	_ = with(ctx, o.cfg, write)
}
