package sequencer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/ledger"
)

// place is a contract at this node. The core knows whether it sleeps: then it has no goroutine, and its ledger is not followed.
type place struct {
	set    *Contract
	why    atomic.Pointer[string] // it cannot be read; nil: it can, or nobody has tried
	unheed func()                 // ends what follows its ledger; nil: nothing does
}

func (p *place) address() string { return p.set.Declared.Address }

// fails notes why a contract cannot be read, or, without an error, that it was.
func (p *place) fails(err error) {
	if err == nil {
		p.why.Store(nil)
		return
	}
	why := err.Error()
	p.why.Store(&why)
}

// How long a chain has to answer when a contract is opened: while all others wait for it, and while they do not.
const (
	atStart = 2 * time.Second
	later   = 30 * time.Second
)

// begin opens the contracts in which something is under way. The others are read for their faults. One whose chain does not
// answer is opened when it does: it holds up no other.
func (n *Node) begin(ctx context.Context) error {
	gone := map[uint64]bool{} // chains
	for i := range n.cfg.Contracts {
		p := n.places[n.cfg.Contracts[i].Declared.Address]
		chain := p.set.Declared.Chain
		if gone[chain] { // one of them has had the patience of all
			n.put(core.Rouse{Contract: p.address()})
			continue
		}
		opened, err := n.open(ctx, p, 0, atStart)
		switch {
		case errors.Is(err, errAway) && ctx.Err() == nil:
			gone[chain] = true
			p.fails(err)
			n.put(core.Rouse{Contract: p.address()})
		case err != nil:
			return fmt.Errorf("contract %s: %w", p.address(), err)
		case opened.Idle():
			opened.Asleep = true
			n.feed(opened)
		default:
			n.put(opened)
		}
	}
	return nil
}

// open reads what is stored, and has the core make the machines. The chain has patience to answer.
func (n *Node) open(ctx context.Context, p *place, number uint64, patience time.Duration) (core.Opened, error) {
	read := core.Read{Number: number, Owns: drawn(), Lineage: lineage()}
	var err error
	if read.Stored, err = n.cfg.Store.Load(ctx, p.address()); err != nil {
		return core.Opened{}, err
	}
	if read.Head, err = headOf(ctx, p.set.Ledger, patience); err != nil {
		return core.Opened{}, err
	}
	return n.core.Open(p.address(), read)
}

// rouse reads a contract, as soon as that can be done.
func (n *Node) rouse(p *place, number uint64) {
	n.group.Go(func() {
		n.insist("a contract cannot be read", p.address(), func(ctx context.Context) error {
			opened, err := n.open(ctx, p, number, later)
			if p.fails(err); err == nil {
				n.put(opened)
			}
			return err
		})
	})
}

// errAway means that a contract's chain does not answer.
var errAway = errors.New("the chain cannot be asked")

func headOf(ctx context.Context, l Ledger, patience time.Duration) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	head, _, err := l.Head(ctx)
	return head, away(err)
}

func away(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errAway, err)
}

// lineage is drawn at each start, and is never 0.
func lineage() uint64 {
	i := drawn()
	return binary.BigEndian.Uint64(i[:8]) | 1
}

// follow feeds blocks to the loop, as long as the contract is awake.
func (n *Node) follow(p *place, f core.Follow) {
	ctx, stop := context.WithCancel(n.ctx)
	p.unheed = stop
	n.group.Go(func() {
		defer stop()
		n.insistOn("the ledger cannot be followed", p.address(), func(_ context.Context, well func()) error {
			if ctx.Err() != nil {
				return errNoMore
			}
			leave, err := n.heed(ctx, p)
			if err != nil {
				return away(err)
			}
			defer leave()
			err = p.set.Ledger.Follow(ctx, f.After, func(in any) {
				well()
				switch in := in.(type) {
				case ledger.Block:
					f.After = in.Number
				case ledger.Rewind:
					f.After = in.To
				}
				n.hear(core.Followed{Contract: f.Contract, Life: f.Life, Step: in})
			})
			if ctx.Err() != nil {
				return errNoMore
			}
			return away(err)
		})
	})
}

// heed has the core hear at once of what the contract's submitter gives up.
func (n *Node) heed(ctx context.Context, p *place) (leave func(), err error) {
	reviewer, can := p.set.Ledger.(Reviewer)
	if !can {
		return func() {}, nil
	}
	return reviewer.Heed(ctx, func() { n.put(core.GivenUp{Contract: p.address()}) })
}

// Awake returns in how many contracts something happens, or did so lately.
func (n *Node) Awake() int { return int(n.many.Load()) }
