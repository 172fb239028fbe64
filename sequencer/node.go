package sequencer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/sequencer/core"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sender"
	"github.com/conchhq/conch/sequencer/wire"
	"github.com/conchhq/conch/transport"
)

// Subject is the transport's subject of the sequencer's messages.
const Subject = "sequencer"

var (
	// ErrContract means that the node is no member of such a contract.
	ErrContract = errors.New("no such contract at this node")
	// ErrConflict means that the key was used before, for something else.
	ErrConflict = core.ErrConflict
	// ErrStopped means that the node does not run any more. What it has accepted goes on after its next start.
	ErrStopped = errors.New("the node is stopped")
)

// RequestError means that the domain of the contract does not take what a user asks for. Nothing was stored.
type RequestError struct{ Err error }

func (e *RequestError) Error() string { return e.Err.Error() }

func (e *RequestError) Unwrap() error { return e.Err }

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

	tasks   chan func()  // for the loop
	own     []core.Input // what a step leaves to be done next
	jobs    chan func()  // for the workers
	writes  chan core.Write
	stopped chan struct{}
	group   sync.WaitGroup

	waits   map[waitKey][]chan sender.Result
	waiting map[uint64]waiting
	tickets uint64       // the last one
	backlog []core.Write // that the writer has no room for

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
		tasks: make(chan func(), 256), jobs: make(chan func(), 256), writes: make(chan core.Write, 256), stopped: make(chan struct{}),
		waits: map[waitKey][]chan sender.Result{}, waiting: map[uint64]waiting{},
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

// Run runs the node until the context ends, once, or until its store says ErrOver. It returns when nothing of it is under
// way any more.
func (n *Node) Run(ctx context.Context) error {
	defer close(n.stopped)
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
	n.loop()
	if parent.Err() == nil {
		return context.Cause(ctx)
	}
	return parent.Err()
}

// loop is the one goroutine that feeds the machines.
func (n *Node) loop() {
	tick := time.NewTicker(n.cfg.Tick)
	defer tick.Stop()
	for {
		for len(n.own) > 0 {
			in := n.own[0]
			n.own = n.own[1:]
			n.feed(in)
		}
		n.own = nil
		select {
		case <-n.ctx.Done():
			return
		case do := <-n.tasks:
			do()
		case <-tick.C:
			n.tick()
		}
	}
}

// now is the machines' clock.
func (n *Node) now() time.Duration { return time.Since(n.began) }

// post has the loop do something.
func (n *Node) post(do func()) {
	select {
	case n.tasks <- do:
	case <-n.ctx.Done():
	}
}

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
func (n *Node) Wait(ctx context.Context, contract, key string) (sender.Result, error) {
	if _, err := n.find(ctx, contract); err != nil {
		return sender.Result{}, err
	}
	told := make(chan sender.Result, 1)
	at := waitKey{contract, key}
	n.post(func() { n.waits[at] = append(n.waits[at], told) })
	defer n.post(func() {
		left := slices.DeleteFunc(n.waits[at], func(x chan sender.Result) bool { return x == told })
		if n.waits[at] = left; len(left) == 0 {
			delete(n.waits, at)
		}
	})
	if found, _, err := n.cfg.Store.Find(ctx, contract, key); err != nil || found.Ended {
		return found.Result, err
	}
	select {
	case r := <-told:
		return r, nil
	case <-ctx.Done():
		return sender.Result{}, ctx.Err()
	case <-n.stopped:
		return sender.Result{}, ErrStopped
	}
}

// find waits until the node has begun.
func (n *Node) find(ctx context.Context, address string) (*place, error) {
	found := make(chan *place, 1)
	select {
	case n.tasks <- func() { found <- n.places[address] }:
	case <-n.stopped:
		return nil, ErrStopped
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrSlow, ctx.Err())
	}
	select {
	case p := <-found:
		if p == nil {
			return nil, fmt.Errorf("%w: %s", ErrContract, address)
		}
		return p, nil
	case <-n.stopped:
		return nil, ErrStopped
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrSlow, ctx.Err())
	}
}
