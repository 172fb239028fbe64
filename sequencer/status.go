package sequencer

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/coordinator"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/ranking"
)

// Status is what a node knows of a contract now.
type Status struct {
	Contract    string
	Head, Final uint64         // of the ledger, as this node follows it
	Unread      string         // why Final is not known, and so neither range nor coordinator; empty if it is
	Range       ranking.Range  // by its own height
	Coordinator ledger.Account // that is named for the range; another one may be at work after a failure
	Next        ledger.Account // for the range after it
	Intents     map[string]int // of this node, by their states
	Takes       uint64         // blocks that an intent of this node takes, from its assembly until it is final; 0: not measured
	Coordinates *coordinator.Status
	Drained     bool    // it coordinates no more
	Members     []Heard // the others, in the contract's order
	Missing     int     // attempts that have landed, whose contents this node lacks
	Waits       string  // why what this node has dispatched is in no block, empty if nothing is known to be in the way
	Nudges      uint64  // empty transactions that were sent since the node's start, since the chain stood still
}

// Heard is what a node has last heard of a member.
type Heard struct {
	Account ledger.Account
	Final   uint64    // the last final block that it spoke of; 0: of none
	At      time.Time // zero if nothing was heard since the node's start
	Differs bool      // it has another declaration of the contract, or none
}

// Contracts returns the addresses of the node's contracts, sorted.
func (n *Node) Contracts() []string {
	all := make([]string, 0, len(n.cfg.Contracts))
	for _, k := range n.cfg.Contracts {
		all = append(all, k.Declared.Address)
	}
	slices.Sort(all)
	return all
}

// List returns intents of this node's users, the newest first.
func (n *Node) List(ctx context.Context, contract string, f Filter) ([]Found, error) {
	if _, err := n.find(ctx, contract); err != nil {
		return nil, err
	}
	return n.cfg.Store.List(ctx, contract, f)
}

// Status returns what the node knows of a contract. One that sleeps is woken for it.
func (n *Node) Status(ctx context.Context, address string) (Status, error) {
	return ask(ctx, n, address, func(p *place, answer func(Status)) bool {
		return n.with(p, 0, func(c *contract) { answer(c.status()) })
	})
}

// Look is Status, but wakes nobody and waits for no database or chain: of a contract that sleeps it tells what it was when
// it fell asleep, and of one that could not be read yet why.
func (n *Node) Look(ctx context.Context, address string) (Status, error) {
	return ask(ctx, n, address, func(p *place, answer func(Status)) bool {
		s := p.last
		if p.open != nil {
			s = p.open.status()
		} else {
			s.Members = n.membersOf(p)
		}
		s.Drained = p.drained
		if s.Final == 0 {
			s.Unread = p.unread()
		}
		answer(s)
		return true
	})
}

func (c *contract) status() Status {
	head, final := c.sender.Height()
	r := c.committee.RangeOf(final)
	s := Status{
		Contract: c.address(), Head: head, Final: final, Range: r, Intents: c.sender.Counts(), Missing: len(c.book.Missing()), Takes: c.pace.blocks(),
		Waits: cmp.Or(c.refused, c.waits), Nudges: c.place.nudges, Drained: c.place.drained,
		Coordinator: ledger.Account(c.committee.Order(r)[0]), Next: ledger.Account(c.committee.Order(r + 1)[0]),
	}
	if c.coordinator != nil {
		s.Coordinates = new(c.coordinator.Status())
	}
	if final == 0 {
		s.Unread = "no block of it is final yet"
	}
	s.Members = c.n.membersOf(c.place)
	return s
}

// membersOf returns the other members of a contract, with what was heard of them.
func (n *Node) membersOf(p *place) (all []Heard) {
	for _, a := range p.set.Declared.Members {
		if a != n.cfg.Self {
			h := p.heard[a]
			h.Account, h.Differs = a, n.differ.has(p.set.Declared.Address, a)
			all = append(all, h)
		}
	}
	return all
}

// hears notes a member's height. It may say anything: the height is for the operator alone. Some messages say none, such as
// those of a member whose contract sleeps.
func (p *place) hears(from ledger.Account, final uint64) {
	if p.heard == nil {
		p.heard = map[ledger.Account]Heard{}
	}
	p.heard[from] = Heard{Final: cmp.Or(final, p.heard[from].Final), At: time.Now()}
}
