package sequencer

import (
	"context"
	"crypto/rand"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/transport"
)

// Subject is the transport's subject of the sequencer's messages.
const Subject = "sequencer"

// Node is one organisation's node. Its methods may be called by several goroutines.
type Node struct {
	cfg      Config
	accounts map[string]ledger.Account // by the peers' names
	places   map[string]*place
	core     *core.Core   // the loop alone touches it
	many     atomic.Int64 // contracts that are awake
	line     transport.Line
	began    time.Time

	ctx context.Context //nolint:containedctx // of the workers, which end with Run
	end context.CancelCauseFunc

	inbox   *step.Inbox[func()] // for the loop: what this node has asked for, as the answers of its workers
	calls   chan func()         // for the loop: of peers, ledgers and users, who wait while it has no room
	own     []core.Input        // what a step leaves to be done before anything else
	due     time.Time           // when the core is told of the time
	jobs    chan func()         // for the workers
	writes  *step.Inbox[core.Write]
	stopped chan struct{}
	group   sync.WaitGroup

	waits   map[waitKey][]chan ledger.Result
	waiting map[uint64]waiting
	tickets uint64 // the last one

	chronicle *chronicle
	differ    differences
	forgotten forgotten
	alone     atomic.Int64 // intents that were told as done while perhaps nobody else had their contents
	outages   outages
	unsigned  atomic.Pointer[string] // why nothing can be signed; nil: it can
}

type waitKey struct{ contract, key string }

// New returns a node that does not run yet. The error lists every fault of the configuration.
func New(cfg Config) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n := &Node{
		cfg: cfg.withDefaults(), accounts: map[string]ledger.Account{}, places: map[string]*place{}, began: time.Now(),
		inbox: step.NewInbox[func()](), calls: make(chan func(), step.MostAtOnce), jobs: make(chan func(), 256), writes: step.NewInbox[core.Write](),
		stopped: make(chan struct{}),
		waits:   map[waitKey][]chan ledger.Result{}, waiting: map[uint64]waiting{},
		chronicle: newChronicle(), outages: newOutages(),
	}
	for a, name := range cfg.Peers {
		n.accounts[name] = a
	}
	decides := core.Config{
		Self: n.cfg.Self, Secret: n.cfg.Secret, SleepAfter: n.cfg.SleepAfter, ShareFor: n.cfg.ShareFor, Coordinates: drawn(), Owns: drawn(), Fetches: drawn(),
	}
	for i := range n.cfg.Contracts {
		k := &n.cfg.Contracts[i]
		n.places[k.Declared.Address] = &place{set: k}
		decides.Contracts = append(decides.Contracts, core.Contract{Declared: k.Declared, Rules: k.Rules, Scheme: k.Scheme, NudgeAfter: k.NudgeAfter})
	}
	if n.cfg.Stepped != nil {
		decides.Timed = func(machine string, step func()) {
			began := n.now()
			step()
			n.cfg.Stepped(machine, n.now()-began)
		}
	}
	n.core = core.New(decides)
	return n, nil
}

// Run runs the node until the context ends, whose error it then returns, or until its store says ErrOver. It returns when nothing of it is
// under way any more, and may be called once.
func (n *Node) Run(ctx context.Context) error {
	defer close(n.stopped)
	defer n.inbox.Close()
	line, err := n.cfg.Transport.Open(Subject)
	if err != nil {
		return err
	}
	defer line.Close()
	parent := ctx
	ctx, stop := context.WithCancelCause(ctx)
	defer n.group.Wait()
	defer stop(nil)
	n.line, n.ctx, n.end = line, ctx, stop
	if err := n.begin(ctx); err != nil {
		return err
	}
	for range n.cfg.Workers {
		n.group.Go(n.work)
		n.group.Go(n.read)
	}
	n.group.Go(n.write)
	if claimer, can := n.cfg.Transport.(transport.Claimer); can {
		n.group.Go(func() { n.claim(claimer) })
	}
	err = n.loop()
	if parent.Err() != nil {
		return parent.Err()
	}
	return err
}

// loop is the one goroutine that feeds the core. What this node has asked for is as much as it has asked. Peers, ledgers and
// users say as much as they like: at most so much is taken between two looks at the clock, and the rest waits outside.
func (n *Node) loop() error {
	return step.Hear(n.ctx, step.Loop[func()]{
		From: n.inbox,
		Wait: func() (time.Duration, bool) { return time.Until(n.due), true },
		Tick: func() []func() { return []func(){n.tick} },
		Feed: step.Each(n.ctx, n.step),
	}, n.calls, func(do func()) func() { return do })
}

// step does something, and what it leaves.
func (n *Node) step(do func()) error {
	for do(); len(n.own) > 0 && n.ctx.Err() == nil; {
		in := n.own[0]
		n.own = n.own[1:]
		n.feed(in)
	}
	n.own = nil
	return nil
}

// now is the machines' clock.
func (n *Node) now() time.Duration { return time.Since(n.began) }

// job has a worker compute something, which takes time.
func (n *Node) job(do func()) {
	select {
	case n.jobs <- do:
	default: // the loop never waits for workers
		n.group.Go(do)
	}
}

func (n *Node) work() {
	for {
		select {
		case do := <-n.jobs:
			do()
			runtime.Gosched() // while all processors are busy with jobs, the loop would wait until one is taken away
		case <-n.ctx.Done():
			return
		}
	}
}

// tick tells the core of the time.
func (n *Node) tick() {
	n.due = time.Now().Add(n.cfg.Tick)
	n.feed(core.Tick{})
	n.chronicle.forget(time.Now())
	n.complain()
}

func sortedAccounts[V any](of map[ledger.Account]V) []ledger.Account {
	return slices.Sorted(maps.Keys(of))
}

// drawn returns random bytes.
func drawn() (i wire.Incarnation) {
	_, _ = rand.Read(i[:]) // it never fails
	return i
}

// Cancel gives an intent up: it ends reverted once the ledger has ended every grant, or confirmed if it lands before. When
// Cancel returns without an error that is stored.
func (n *Node) Cancel(ctx context.Context, address string, s ledger.Sequence) error {
	_, err := ask(ctx, n, address, func(p *place, answer func(core.Accepted), busy func()) {
		n.with(p, 0, func() {
			if ctx.Err() == nil { // else its user was told that nothing was done
				n.feed(core.Cancel{Ticket: n.ticket(waiting{accepted: answer}), Contract: address, Sequence: s})
			}
		}, busy)
	})
	return err
}

// Drain has the node coordinate a contract no more, or take work for it again: what it has not dispatched it gives back. It
// still owns what its users hand in, and endorses. A start of the node takes work again.
func (n *Node) Drain(ctx context.Context, address string, on bool) error {
	_, err := reach(ctx, n, address, func(*place) struct{} {
		n.feed(core.Drain{Contract: address, On: on})
		return struct{}{}
	})
	return err
}

// Wait returns how an intent ended, when it has.
func (n *Node) Wait(ctx context.Context, contract, key string) (ledger.Result, error) {
	told := make(chan ledger.Result, 1)
	at := waitKey{contract, key}
	defer n.inbox.Put(func() {
		left := slices.DeleteFunc(n.waits[at], func(x chan ledger.Result) bool { return x == told })
		if n.waits[at] = left; len(left) == 0 {
			delete(n.waits, at)
		}
	})
	if err := n.find(ctx, contract, func() { n.waits[at] = append(n.waits[at], told) }); err != nil {
		return ledger.Result{}, err
	}
	if found, _, err := n.cfg.Store.Find(ctx, contract, key); err != nil || found.Ended {
		return found.Result, err
	}
	select {
	case r := <-told:
		return r, nil
	case <-ctx.Done():
		return ledger.Result{}, ctx.Err()
	case <-n.stopped:
		return ledger.Result{}, ErrStopped
	}
}
