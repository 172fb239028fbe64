package sequencer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/sequencer/coordinator"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sender"
	"github.com/conchhq/conch/sequencer/wire"
)

// place is a contract at this node, and belongs to the loop. When nothing happens in it for a while it falls asleep: what
// it was is in the store, and the next event reads it from there, as a start does (P42). A node may have many contracts in
// which nothing happens: one that sleeps has no machines, no goroutine, and does not follow its ledger. It comes to no harm:
// whatever happens in a contract begins with a message to each of its members.
type place struct {
	set     *Contract
	open    *contract         // nil while it sleeps
	waits   []func(*contract) // until it is read, and has caught up with its ledger
	held    int               // bytes of what waits
	opening bool
	number  uint64                  // of the last request of its coordinator
	proving map[ledger.Account]bool // members whose handover is being proven
	nudges  uint64                  // empty transactions that were sent for it
	ended   map[string]uint64       // entries of its coordinator before it slept, by how they have ended
	alone   spell                   // intents are told as done that perhaps nobody else has
	last    Status                  // when it was awake

	why atomic.Pointer[string] // it cannot be read; nil: it can, or nobody has tried

	drained bool                     // the node coordinates it no more
	heard   map[ledger.Account]Heard // what was last heard of its members; nil before the first message
}

// unread says why nothing is known of a contract's blocks.
func (p *place) unread() string {
	switch why := p.why.Load(); {
	case why != nil:
		return *why
	case p.opening || p.open != nil:
		return "it is being read"
	default:
		return "nothing has happened in it, and it is read when something does"
	}
}

// fails notes why a contract cannot be read, or, without an error, that it was.
func (p *place) fails(err error) {
	if err == nil {
		p.why.Store(nil)
		return
	}
	why := err.Error()
	p.why.Store(&why)
}

// What waits until a contract is read: so many events, and so many bytes of messages. What comes then is refused.
const (
	mostWaits = 10_000
	mostHeld  = 16 << 20
)

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
		p := &place{set: &n.cfg.Contracts[i], proving: map[ledger.Account]bool{}, last: Status{Contract: n.cfg.Contracts[i].Declared.Address, Intents: map[string]int{}}}
		n.contracts[p.last.Contract] = p
		chain := p.set.Declared.Chain
		if gone[chain] { // one of them has had the patience of all
			n.own = append(n.own, func() { n.rouse(p) })
			continue
		}
		c, err := n.open(ctx, p, 0, atStart)
		switch {
		case errors.Is(err, errAway) && ctx.Err() == nil:
			gone[chain] = true
			p.fails(err)
			n.own = append(n.own, func() { n.rouse(p) })
		case err != nil:
			return fmt.Errorf("contract %s: %w", p.last.Contract, err)
		case c.idle():
			p.last = c.status()
		default:
			n.own = append(n.own, func() { n.wake(p, c) })
		}
	}
	return nil
}

// with does something with a contract's machines, now or when they are there. It returns false if too much waits for them:
// then it is never done. Size is that of the message that it is about.
func (n *Node) with(p *place, size int, do func(*contract)) bool {
	if p.open != nil && !p.open.behind {
		p.open.busyAt = n.now()
		do(p.open)
		return true
	}
	if len(p.waits) == mostWaits || p.held > 0 && p.held+size > mostHeld {
		n.cfg.Log.Debug("a contract takes long to be read, and a message is refused", "contract", p.set.Declared.Address)
		return false
	}
	p.held += size
	if p.waits = append(p.waits, do); !p.opening && p.open == nil {
		n.rouse(p)
	}
	return true
}

// rouse reads a contract, as soon as that can be done.
func (n *Node) rouse(p *place) {
	if p.opening || p.open != nil {
		return
	}
	p.opening = true
	number := p.number
	n.group.Go(func() {
		n.insist("a contract cannot be read", p.set.Declared.Address, func(ctx context.Context) error {
			c, err := n.open(ctx, p, number, later)
			if p.fails(err); err == nil {
				n.post(func() { n.wake(p, c) })
			}
			return err
		})
	})
}

// needs reports whether a verdict or a grant in the answer to a request may count.
func (p *place) needs(answer wire.RequestID, at int) bool {
	return p.open == nil || p.open.coordinator != nil && p.open.coordinator.Needs(answer, at)
}

// has reports whether an account is a member.
func (p *place) has(a ledger.Account) bool { return slices.Contains(p.set.Declared.Members, a) }

// wake begins with a contract's machines. What waits for them goes on waiting until they know of the blocks of the
// meantime: they would else speak of heights that are long past.
func (n *Node) wake(p *place, c *contract) {
	c.ctx, c.stop = context.WithCancel(n.ctx)
	c.busyAt = n.now()
	p.open, p.opening = c, false
	n.awake = append(n.awake, p)
	n.many.Store(int64(len(n.awake)))
	n.group.Go(c.follow)
	c.toSender(sender.Tick{}) // what is to be done first
	c.toCoordinator(coordinator.Drain{On: p.drained})
	if !c.behind {
		n.ready(p)
	}
}

// mostBehind is how long events wait for a ledger that does not tell of its blocks.
const mostBehind = 2 * time.Second

// ready does what has waited.
func (n *Node) ready(p *place) {
	waits := p.waits
	p.open.behind, p.waits, p.held = false, nil, 0
	for _, do := range waits {
		n.with(p, 0, do)
	}
}

// rest lets contracts fall asleep in which nothing happens.
func (n *Node) rest() {
	now := n.now()
	for _, p := range n.awake {
		if p.open.behind && now-p.open.busyAt >= mostBehind {
			n.ready(p)
		}
	}
	n.awake = slices.DeleteFunc(n.awake, func(p *place) bool {
		c := p.open
		if c.behind || now-c.busyAt < n.cfg.SleepAfter || !c.idle() {
			return false
		}
		c.stop()
		p.last = c.status()
		if p.open = nil; c.coordinator != nil {
			p.number, p.ended = c.coordinator.Number(), p.last.Coordinates.Ended
		}
		return true
	})
	n.many.Store(int64(len(n.awake)))
}

// Awake returns in how many contracts something happens, or did so lately.
func (n *Node) Awake() int { return int(n.many.Load()) }

// idle reports whether the store has all of the contract.
func (c *contract) idle() bool {
	return len(c.unsent) == 0 && c.writing == 0 && !c.sending && c.sender.Idle() && (c.coordinator == nil || c.coordinator.Idle()) &&
		c.endorser.Idle() && c.book.Idle()
}
