package pgops

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/step"
)

// Leader carries requests out; *[election.Elector] is one.
type Leader interface {
	Snapshot() []election.Status
	StepDown(ctx context.Context, s election.StepDown) error
	Warm(ctx context.Context, scope string) error
}

// Obey carries out the requests of operators for every scope of the leader, until ctx ends, and warms
// the role for a transfer to the candidate id. Database errors only delay requests. Obey returns once
// it has written the results of all requests that it took; it does not wait for Warm.
func Obey(ctx context.Context, cfg pgmint.Config, id string, leader Leader) {
	e := executor{cfg: cfg, id: id, leader: leader, warming: map[string]bool{}}
	defer e.close()
	defer e.busy.Wait()
	nudge := step.NewWake()
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		_ = pg.Listen(ctx, cfg.Connection(" commands"), []string{requestChannel},
			pg.ListenFuncs{Up: nudge.Ring, Notify: func(string, string) { nudge.Ring() }})
	}()
	defer func() { <-listening }()
	tick := time.NewTicker(requestPoll)
	defer tick.Stop()
	for ctx.Err() == nil {
		e.pass(ctx)
		select {
		case <-ctx.Done():
		case <-nudge:
		case <-tick.C:
		}
	}
}

// executor carries out requests for one leader.
type executor struct {
	cfg     pgmint.Config
	id      string
	leader  Leader
	mu      sync.Mutex // guards conn and warming
	conn    *pgx.Conn
	warming map[string]bool // the scopes whose Warm has not returned
	unsure  []int64         // requests that may be taken, and are not carried out
	busy    sync.WaitGroup  // requests being carried out
}

func (e *executor) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = e.conn.Close(ctx)
		e.conn = nil
	}
}

// pass reads the open requests and does this process's part of each.
func (e *executor) pass(ctx context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.connect(ctx) || !e.disown(ctx) {
		return // the next tick tries again
	}
	led := map[string]election.Status{}
	var scopes []string
	for _, s := range e.leader.Snapshot() {
		scopes = append(scopes, s.Scope)
		if s.Leading {
			led[s.Scope] = s
		}
	}
	requests, err := e.open(ctx, scopes)
	if err != nil {
		return
	}
	for _, r := range requests {
		status, leading := led[r.Scope]
		switch {
		case leading && r.Epoch < status.Token.Epoch:
			e.expire(ctx, r, fmt.Sprintf("that leadership, with epoch %d, is over", r.Epoch))
		case r.age() > orphanAge:
			e.expire(ctx, r, "nobody took it in time, and the operator did not withdraw it")
		case r.age() > takePatience: // its Ask is about to withdraw it
		case leading && status.Token.Epoch == r.Epoch && !r.waitsForSuccessor():
			e.carryOut(ctx, r)
		case !leading && r.Verb == "transfer" && r.ToID == e.id && r.State == "asked":
			e.warm(ctx, r)
		}
	}
}

func (e *executor) connect(ctx context.Context) bool {
	if e.conn != nil && !e.conn.IsClosed() {
		return true
	}
	conn, err := pg.Connect(ctx, e.cfg.Connection(" commands"))
	if err == nil {
		e.conn = conn
	}
	return err == nil
}
