package pgstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/txlog"
)

// Authority is one node's part of a log in a database. It is a [txlog.Authority], and safe for concurrent use.
type Authority struct {
	db  *Database
	cfg Config

	mu      sync.Mutex
	inbox   []input
	wake    chan struct{}         // has room for one
	turns   map[uint64]chan error // leaderships that have not ended, by ticket
	tickets uint64
	over    error // why it runs no more
	ran     bool

	// Of the goroutine of Run.
	machine *machine
	began   time.Time
	work    sync.WaitGroup
	writing map[uint64]context.CancelFunc // of the writes of a leadership, by ticket
}

var _ txlog.Authority = (*Authority)(nil)

// Authority returns the authority of a node. It does nothing before Run.
func (d *Database) Authority(c Config) (*Authority, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	return &Authority{
		db: d, cfg: c, wake: make(chan struct{}, 1), turns: map[uint64]chan error{}, writing: map[uint64]context.CancelFunc{},
		machine: newMachine(c.At, c.Poll),
	}, nil
}

// Campaign implements [txlog.Authority], and does nothing: the election of the scope says who leads, and the node passes its
// token to Lead.
func (a *Authority) Campaign() {}

// Append implements [txlog.Authority].
func (a *Authority) Append(r txlog.Record) { a.post(appended{Record: r}) }

// Confirm implements [txlog.Authority]. Every node may ask.
func (a *Authority) Confirm(read uint64) { a.post(asked{Read: read}) }

// Lead leads the log under the token of this node's leadership until ctx ends, and returns nil then, or why it cannot: the
// error is fence.ErrStale, ErrTaken, ErrScope, ErrSpent, ErrReplaced, ErrStopped, txlog.ErrChain if a record was appended
// that does not follow, or what Run returns. The facts say when it leads and that it is deposed; when Lead returns, no
// record is accepted under the token any more. What is being written then may still be stored.
func (a *Authority) Lead(ctx context.Context, token fence.Token) error {
	ended := make(chan error, 1)
	a.mu.Lock()
	if a.over != nil {
		defer a.mu.Unlock()
		return a.over
	}
	a.tickets++
	ticket := a.tickets
	a.turns[ticket] = ended
	a.mu.Unlock()
	a.post(lead{Ticket: ticket, Token: token})
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	a.post(yield{Ticket: ticket})
	return <-ended
}

// post puts an input where Run takes it. It never waits.
func (a *Authority) post(in input) {
	a.mu.Lock()
	a.inbox = append(a.inbox, in)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// taken returns the inputs that have come.
func (a *Authority) taken() []input {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.inbox
	a.inbox = nil
	return all
}

// Run follows the log, and leads it while Lead says so, until ctx ends or the authority can do no more: the error is
// ErrForked or ErrDamaged then, and the node must not go on with its copy. It may be called once. Nothing is under way when
// it returns.
func (a *Authority) Run(ctx context.Context) (err error) {
	a.mu.Lock()
	again := a.ran
	a.ran = true
	a.mu.Unlock()
	if again {
		return errors.New("txlog/pgstore: an authority runs once")
	}
	a.began = time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		a.work.Wait()
		a.close(err)
	}()
	a.work.Go(func() { a.listen(ctx) })
	if err := a.step(ctx, tick{}); err != nil {
		return err
	}
	for {
		if err := a.rest(ctx); err != nil {
			return err
		}
		all := append(a.taken(), tick{})
		for _, in := range all {
			if err := a.step(ctx, in); err != nil {
				return err
			}
		}
	}
}

// rest waits for the next input.
func (a *Authority) rest(ctx context.Context) error {
	var due <-chan time.Time
	if at, is := a.machine.Due(); is {
		timer := time.NewTimer(at - time.Since(a.began))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-a.wake:
		return nil
	case <-due:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// step feeds the machine, and does what it wants done.
func (a *Authority) step(ctx context.Context, in input) (err error) {
	for _, one := range a.machine.Step(time.Since(a.began), in) {
		switch one := one.(type) {
		case tell:
			a.cfg.Tell(one.Fact)
		case troubled:
			a.cfg.Trouble(one.Err)
		case read:
			a.work.Go(func() {
				var answer got
				a.db.read(ctx, a.cfg.At.Log, one, &answer)
				a.post(answer)
			})
		case find:
			a.work.Go(func() { a.post(a.db.find(ctx, a.cfg.At.Log, one)) })
		case write:
			a.write(ctx, one)
		case ended:
			a.end(one.Ticket, one.Err)
		case stopped:
			err = one.Err
		}
	}
	return err
}

// write writes until the leadership ends: its connection may be dead, and the next leadership needs one.
func (a *Authority) write(ctx context.Context, w write) {
	ctx, cancel := context.WithCancel(ctx)
	a.writing[w.Ticket] = cancel // the one before has ended
	a.work.Go(func() {
		defer cancel()
		a.post(wrote{ID: w.ID, Err: a.db.append(ctx, a.cfg.At.Log, w)})
	})
}

func (a *Authority) end(ticket uint64, why error) {
	if cancel := a.writing[ticket]; cancel != nil {
		cancel()
		delete(a.writing, ticket)
	}
	a.mu.Lock()
	ended := a.turns[ticket]
	delete(a.turns, ticket)
	a.mu.Unlock()
	if ended != nil {
		ended <- why
	}
}

// close ends all leaderships, and those that come.
func (a *Authority) close(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = errors.Join(ErrStopped, why)
	for _, ended := range a.turns {
		ended <- a.over
	}
	a.turns = nil
}

// listen hears of new records. Notifications may be lost, so Run looks by itself too.
func (a *Authority) listen(ctx context.Context) {
	own := a.cfg.At.Log.String() + ":"
	err := pg.Listen(ctx, a.db.cfg, []string{channel}, pg.ListenFuncs{
		Up: func() { a.post(noticed{}) },
		Notify: func(_, payload string) { // any role may notify: it costs a look
			if strings.HasPrefix(payload, own) {
				a.post(noticed{})
			}
		},
	})
	_ = err // of ctx: the configuration was parsed by Open
}

const channel = "conch_log"
