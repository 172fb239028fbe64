package pgstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// dbAuthority says of one node's part of a log what the database has. It is a [authority.Authority], and safe for concurrent use.
type dbAuthority struct {
	db  *Database
	cfg settings

	inbox *step.Inbox[input]

	mu      sync.Mutex
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

var _ authority.Authority = (*dbAuthority)(nil)

// authority returns the authority of a node. It does nothing before Run.
func (d *Database) authority(c settings) (*dbAuthority, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	return &dbAuthority{
		db: d, cfg: c, inbox: step.NewInbox[input](tick{}), turns: map[uint64]chan error{}, writing: map[uint64]context.CancelFunc{},
		machine: newMachine(c.At, c.Poll),
	}, nil
}

// Campaign implements [authority.Authority], and does nothing: the election of the scope says who leads, and the node passes its
// token to Lead.
func (a *dbAuthority) Campaign() {}

// Append implements [authority.Authority].
func (a *dbAuthority) Append(r txlog.Record) { a.inbox.Put(appended{Record: r}) }

// Confirm implements [authority.Authority]. Every node may ask.
func (a *dbAuthority) Confirm(read uint64) { a.inbox.Put(asked{Read: read}) }

// Lead leads the log under the token of this node's leadership until ctx ends, and returns nil then, or why it cannot: the
// error is fence.ErrStale, ErrTaken, ErrScope, ErrSpent, ErrReplaced, ErrStopped, txlog.ErrChain if a record was appended
// that does not follow, or what Run returns. The facts say when it leads and that it is deposed; when Lead returns, no
// record is accepted under the token any more. What is being written then may still be stored.
func (a *dbAuthority) Lead(ctx context.Context, token fence.Token) error {
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
	a.inbox.Put(lead{Ticket: ticket, Token: token})
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	a.inbox.Put(yield{Ticket: ticket})
	return <-ended
}

// Run follows the log, and leads it while Lead says so, until ctx ends or the authority can do no more: the error is
// ErrForked or ErrDamaged then, and the node must not go on with its copy. It may be called once. Nothing is under way when
// it returns.
func (a *dbAuthority) Run(ctx context.Context) (err error) {
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
	return step.Loop[input]{
		From: a.inbox, Wait: a.wait,
		Tick: func() []input { return []input{tick{}} },
		Feed: step.Each(ctx, func(in input) error { return a.step(ctx, in) }),
	}.Run(ctx)
}

// wait returns for how long the machine needs no tick.
func (a *dbAuthority) wait() (time.Duration, bool) {
	at, is := a.machine.Due()
	return at - time.Since(a.began), is
}

// step feeds the machine, and does what it wants done.
func (a *dbAuthority) step(ctx context.Context, in input) (err error) {
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
				a.inbox.Put(answer)
			})
		case find:
			a.work.Go(func() { a.inbox.Put(a.db.find(ctx, a.cfg.At.Log, one)) })
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
func (a *dbAuthority) write(ctx context.Context, w write) {
	ctx, cancel := context.WithCancel(ctx)
	a.writing[w.Ticket] = cancel // the one before has ended
	a.work.Go(func() {
		defer cancel()
		a.inbox.Put(wrote{ID: w.ID, Err: a.db.append(ctx, a.cfg.At.Log, w)})
	})
}

func (a *dbAuthority) end(ticket uint64, why error) {
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
func (a *dbAuthority) close(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inbox.Close()
	a.over = errors.Join(ErrStopped, why)
	for _, ended := range a.turns {
		ended <- a.over
	}
	a.turns = nil
}

// listen hears of new records. Notifications may be lost, so Run looks by itself too.
func (a *dbAuthority) listen(ctx context.Context) {
	own := a.cfg.At.Log.String() + ":"
	err := pg.Listen(ctx, a.db.cfg, []string{channel}, pg.ListenFuncs{
		Up: func() { a.inbox.Put(noticed{}) },
		Notify: func(_, payload string) { // any role may notify: it costs a look
			if strings.HasPrefix(payload, own) {
				a.inbox.Put(noticed{})
			}
		},
	})
	_ = err // of ctx: the configuration was parsed by Open
}

const channel = "conch_log"
