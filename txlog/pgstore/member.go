package pgstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
	"github.com/conchhq/conch/txlog/internal/member"
)

// Member is one node of a log. It has a copy of the log, and executes goals while Lead says that the node leads. It is safe for concurrent use.
type Member struct {
	of   *dbAuthority
	done chan struct{} // closed when it has ended
	ran  atomic.Bool
	at   atomic.Uint64 // the index of the copy

	inbox *step.Inbox[task]

	mu      sync.Mutex
	tickets uint64
	waiting map[uint64]chan member.Reply

	// Of the goroutine of Run.
	machine *member.Machine
	copy    *txlog.Copy // the machine's, of what is committed
	began   time.Time
	next    time.Time // when the next round begins
}

// task is an input of the machine, or a look at its copy.
type task struct {
	in   member.Input
	look func()
}

// round is a tick of the machine.
const round = 100 * time.Millisecond

// Member returns a node of a log that Create has made. It does nothing before Run. The error lists the faults of the configuration, or it is
// ErrScope if there is no such log, or one of the database.
func (d *Database) Member(ctx context.Context, c Config) (*Member, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	g, _, err := d.Genesis(ctx, c.Log)
	if err != nil {
		return nil, err
	}
	if !g.State.IsZero() {
		return nil, fmt.Errorf("txlog/pgstore: log %s goes on with another one, and the state with which it begins is not in the database", c.Log.Short())
	}
	m := &Member{done: make(chan struct{}), inbox: step.NewInbox[task](), waiting: map[uint64]chan member.Reply{}, copy: txlog.NewCopy(g, c.New)}
	m.machine = member.New(member.Config{Self: c.Self, Base: m.copy, New: c.New})
	m.of, err = d.authority(settings{At: g.Start(), Poll: c.Poll, Trouble: c.Trouble, Tell: func(f authority.Fact) { m.inbox.Put(task{in: member.Heard{Fact: f}}) }})
	return m, err
}

// Run follows the log, and leads it while Lead says so, until ctx ends or the node can do no more: the error is ErrForked, ErrDamaged, or one of
// package txlog if the copy does not come to the state that the log says. Then memory is wrong, here or at the leader, and another Member reads
// everything anew. It may be called once. Nothing is under way when it returns.
func (m *Member) Run(ctx context.Context) error {
	if m.ran.Swap(true) {
		return errors.New("txlog/pgstore: a member runs once")
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- m.of.Run(ctx)
	}()
	m.began = time.Now()
	err := step.Loop[task]{From: m.inbox, Wait: m.wait, Tick: m.tick, Feed: step.Each(ctx, m.take)}.Run(ctx)
	over := ctx.Err() != nil
	cancel()
	if why := <-ended; over {
		err = why
	}
	m.inbox.Close()
	close(m.done)
	return err
}

func (m *Member) wait() (time.Duration, bool) { return time.Until(m.next), true }

func (m *Member) tick() []task {
	now := time.Now()
	m.next = now.Add(round)
	return []task{{in: member.Tick{At: now.UnixMilli()}}}
}

// take feeds the machine, and does what it says. Heads and snapshots are of no use here: the database has all entries. Effects wait for a door
// that never opens.
func (m *Member) take(t task) error {
	if t.look != nil {
		t.look()
		return nil
	}
	for _, a := range m.machine.Step(time.Since(m.began), t.in) {
		switch a := a.(type) {
		case member.Append:
			m.of.Append(a.Record)
		case member.Confirm:
			m.of.Confirm(a.Read)
		case member.Reply:
			m.answer(a)
		case member.Rebuild:
			return a.Why
		case member.Quarantine:
			return a.Why
		}
	}
	m.at.Store(m.copy.Position().Index)
	return nil
}

func (m *Member) answer(a member.Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if asker := m.waiting[a.Ticket]; asker != nil {
		delete(m.waiting, a.Ticket)
		asker <- a
	}
}

// Lead leads the log under the token of this node's leadership until ctx ends, and returns nil then, or why it cannot: the
// error is fence.ErrStale, ErrTaken, ErrScope, ErrSpent, ErrReplaced, ErrStopped, or what Run returns. When it returns, no entry is made under the
// token any more. What is being written then may still be stored.
func (m *Member) Lead(ctx context.Context, token fence.Token) error { return m.of.Lead(ctx, token) }

// Goal has a goal executed by this node, if it leads, and returns what came of it once that is committed; what is committed any node answers.
// Since is an index that was committed before the id was made; 0: the id is new. While nobody is known to lead, it waits.
//
// An answer with a fault is of a goal that has failed. The error is txlog.ErrNotLeader, ErrGoalID, ErrOld, ErrTooMany, ErrMalformed or ErrSize if
// the goal is refused, and ErrStopped if the member had ended before. Any other error wraps txlog.ErrUnknown: asked again with the same id, the
// goal is executed once.
func (m *Member) Goal(ctx context.Context, id string, goal []byte, since uint64) (txlog.Answer, error) {
	if err := (txlog.Goal{ID: id, Body: goal}).Check(); err != nil {
		return txlog.Answer{}, err
	}
	if since == 0 {
		since = m.at.Load()
	}
	return m.ask(ctx, func(ticket uint64) member.Input {
		return member.Execute{Ticket: ticket, Goal: txlog.Goal{ID: id, Body: append([]byte{}, goal...), Since: since}}
	})
}

// Query answers a query from the copy that is here, and says of which position the answer is.
func (m *Member) Query(ctx context.Context, query []byte) (result []byte, at txlog.Position, err error) {
	type seen struct {
		view txlog.View
		at   txlog.Position
		err  error
	}
	looked := make(chan seen, 1)
	if !m.inbox.Put(task{look: func() {
		view, err := m.copy.View()
		looked <- seen{view, m.copy.Position(), err}
	}}) {
		return nil, at, ErrStopped
	}
	select {
	case now := <-looked:
		if now.err == nil {
			result, now.err = txlog.Ask(now.view, query)
		}
		return result, now.at, now.err
	case <-m.done:
		return nil, at, ErrStopped
	case <-ctx.Done():
		return nil, at, context.Cause(ctx)
	}
}

// Fresh is Query with everything that was acknowledged before: the database is asked first how far that is. The error may wrap
// txlog.ErrUnknown.
func (m *Member) Fresh(ctx context.Context, query []byte) ([]byte, txlog.Position, error) {
	if _, err := m.ask(ctx, func(ticket uint64) member.Input { return member.Read{Ticket: ticket} }); err != nil {
		return nil, txlog.Position{}, err
	}
	return m.Query(ctx, query)
}

// ask gives the machine an input that is answered, and waits for the answer.
func (m *Member) ask(ctx context.Context, in func(ticket uint64) member.Input) (txlog.Answer, error) {
	m.mu.Lock()
	m.tickets++
	ticket, answer := m.tickets, make(chan member.Reply, 1)
	m.waiting[ticket] = answer
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.waiting, ticket)
	}()
	if !m.inbox.Put(task{in: in(ticket)}) {
		return txlog.Answer{}, ErrStopped
	}
	select {
	case a := <-answer:
		return a.Answer, a.Err
	case <-m.done:
		return txlog.Answer{}, fmt.Errorf("%w: %w", ErrStopped, txlog.ErrUnknown)
	case <-ctx.Done():
		m.inbox.Put(task{in: member.Gone{Ticket: ticket}})
		return txlog.Answer{}, fmt.Errorf("%w: %w", context.Cause(ctx), txlog.ErrUnknown)
	}
}
