package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/splitmix"
	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// mostQuery is how many bytes a query has at most.
const mostQuery = txlog.MostGoal

// round is a tick of the machines.
const round = core.Round

// What waits for the loop at most, which may wait for a disk.
const (
	mostAsking = 4096 // users; a courier and a member have room for fewer
	mostHeads  = 256  // the newest ones count
)

// Host runs one log on one node. It is safe for concurrent use.
type Host struct {
	cfg   Config
	log   txlog.ID
	reads chan func() // what the store is asked for others
	bell  step.Wake

	using   chan struct{} // held by the one goroutine that uses the core
	core    *core.Core    // nil: it has ended
	storing bool          // what the copy has is not on the disk yet
	readers []func()      // that wait for it
	shown   shown         // what users read, until the copy comes further

	reading chan struct{} // a place for each query that runs
	status  atomic.Pointer[core.Status]

	mu      sync.Mutex // held for moments: nobody waits for the core with it
	ended   bool
	inputs  []core.Input  // that wait
	heads   []core.Headed // that wait, the newest ones
	waiting map[uint64]chan core.TicketEnded
	ticket  uint64
	lives   uint64 // cores that were made
	running bool
	door    majority.Door
	keeping bool // a snapshot is being stored
	beats   []beat
	busy    time.Duration // see works
}

// New returns a host that does not run yet. The error lists the faults of the configuration, or is one of the store.
func New(c Config) (*Host, error) {
	if err := c.Validate(); err != nil { // before the store is read with them
		return nil, err
	}
	if c.Clock == nil {
		c.Clock = func() time.Duration { return time.Duration(fence.Boottime()) }
	}
	h := &Host{cfg: c, log: c.Store.Genesis().ID(), reads: make(chan func(), 64), bell: step.NewWake(), using: make(chan struct{}, 1), reading: make(chan struct{}, mostReading), waiting: map[uint64]chan core.TicketEnded{}}
	var err error
	h.core, err = h.begin()
	return h, err
}

// begin makes a core of what the store has.
func (h *Host) begin() (*core.Core, error) {
	has, err := core.Load(h.cfg.Store, h.cfg.New)
	if err != nil {
		return nil, err
	}
	settings := h.cfg.settings()
	settings.Seed = splitmix.Mix(settings.Seed, h.lives)
	h.lives++
	made, err := core.New(settings, has)
	if err == nil {
		h.publish(made, false)
	}
	return made, err
}

// Run takes part in the log until ctx ends, and returns nil then. Any other error is one of the store, or ErrLost. After
// store.ErrSync nothing was said that was not stored, and the store must not be opened again by this process. It may be called once.
func (h *Host) Run(ctx context.Context) error {
	h.mu.Lock()
	if h.running {
		h.mu.Unlock()
		return errors.New("txlog/quorum: it has run before")
	}
	h.running = true
	h.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel()
	helpers.Go(func() { h.librarian(ctx) })
	helpers.Go(func() { h.pulse(ctx) })
	l := &loop{Host: h, ctx: ctx, helpers: &helpers}
	err := l.run()
	h.stop()
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return nil
	}
	return err
}

// stop tells those that wait that nothing comes any more.
func (h *Host) stop() {
	h.using <- struct{}{}
	h.core, h.shown = nil, shown{}
	h.stored()
	<-h.using
	h.status.Store(&core.Status{Log: h.log})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended, h.door, h.inputs, h.heads = true, majority.Door{}, nil, nil
	for ticket, asker := range h.waiting {
		asker <- core.TicketEnded{Ticket: ticket, Err: fmt.Errorf("%w: %w", ErrStopped, txlog.ErrUnknown)}
	}
	clear(h.waiting)
}

// librarian reads the store for others, so that the loop need not.
func (h *Host) librarian(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case read := <-h.reads:
			read()
		}
	}
}

// put gives the loop an input. A host that has ended drops it.
func (h *Host) put(in core.Input) {
	h.mu.Lock()
	switch in := in.(type) {
	case core.Headed:
		if h.heads = append(h.heads, in); len(h.heads) > mostHeads {
			h.heads = slices.Delete(h.heads, 0, 1)
		}
	case core.Suggested:
		h.withdraw(isSuggestion)
		h.inputs = append(h.inputs, in)
	default:
		h.inputs = append(h.inputs, in)
	}
	if h.ended {
		h.inputs, h.heads = nil, nil
	}
	h.mu.Unlock()
	h.bell.Ring()
}

func isSuggestion(in core.Input) bool {
	_, is := in.(core.Suggested)
	return is
}

// withdraw takes inputs back that wait. It reports whether there were any.
func (h *Host) withdraw(is func(core.Input) bool) bool {
	before := len(h.inputs)
	h.inputs = slices.DeleteFunc(h.inputs, is)
	return len(h.inputs) < before
}

// ask gives the loop an input that is answered, and waits for the answer.
func (h *Host) ask(ctx context.Context, in func(ticket uint64) core.Input) (core.TicketEnded, error) {
	h.mu.Lock()
	if h.ended {
		h.mu.Unlock()
		return core.TicketEnded{}, ErrStopped
	}
	if len(h.waiting) >= mostAsking {
		h.mu.Unlock()
		return core.TicketEnded{}, txlog.ErrTooMany
	}
	h.ticket++
	ticket, answer := h.ticket, make(chan core.TicketEnded, 1)
	h.waiting[ticket] = answer
	h.mu.Unlock()
	h.put(in(ticket))
	select {
	case a := <-answer:
		return a, a.Err
	case <-ctx.Done():
		h.mu.Lock()
		delete(h.waiting, ticket)
		waits := h.withdraw(func(of core.Input) bool { return core.Ticket(of) == ticket })
		h.mu.Unlock()
		if !waits {
			h.put(core.Gone{Ticket: ticket})
		}
		return core.TicketEnded{}, unanswered(ctx)
	}
}

// Goal has a goal executed by the leader, and returns what came of it once that is committed. Since is an index that was
// committed before the id was made: an id that is older than the results that are kept is refused. 0 means that it is not said, and
// that the id is new: the index of this node's copy is taken, as it is now. If that copy is far behind, a new id may so seem to be
// old: Status has the newest head that a member has signed.
//
// An answer with a fault is of a goal that has failed. The error is txlog.ErrGoalID, ErrOld, ErrTooMany, ErrBarred, ErrMalformed or ErrSize
// if the goal is refused, and ErrStopped if the host had ended before. Any other error wraps txlog.ErrUnknown: asked again with the
// same id, the goal is executed once.
func (h *Host) Goal(ctx context.Context, id string, goal []byte, since uint64) (txlog.Answer, error) {
	if err := (txlog.Goal{ID: id, Body: goal}).Check(); err != nil {
		return txlog.Answer{}, err
	}
	if since == 0 {
		since = h.Status().Position.Index
	}
	a, err := h.ask(ctx, func(ticket uint64) core.Input {
		return core.UserGoal{Ticket: ticket, Goal: txlog.Goal{ID: id, Body: append([]byte{}, goal...), Since: since}}
	})
	return a.Answer, err
}

// Change makes another set of members, and returns the index of the entry that says so. Since is Status.MembersAt as it was when the
// caller looked who the members are: if they have changed since, the error is txlog.ErrChanged and nothing is done, unless they are those
// that are asked for. Only the leader takes it: the error is a txlog.NotLeaderError elsewhere.
func (h *Host) Change(ctx context.Context, members []txlog.Member, since uint64) (uint64, error) {
	if err := txlog.CheckMembers(members); err != nil {
		return 0, err
	}
	a, err := h.ask(ctx, func(ticket uint64) core.Input {
		return core.Change{Ticket: ticket, Members: slices.Clone(members), Since: since}
	})
	return a.Index, err
}

// Heard takes a head that gossip has brought, and the neighbour that brought it first. The error is of bytes that are no head.
func (h *Host) Heard(head []byte, via string) error {
	read, err := txlog.DecodeHead(head)
	if err != nil {
		return err
	}
	h.put(core.Headed{Head: read, Via: via})
	return nil
}

// Suggest takes whom gossip suggests as the leader; empty: nobody.
func (h *Host) Suggest(name string) { h.put(core.Suggested{Name: name}) }

// acts returns when this node may act outside of the log: while it is open by Config.Clock.
func (h *Host) acts() majority.Door {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.door
}
