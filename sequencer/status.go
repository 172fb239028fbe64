package sequencer

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Status is what a node knows of a contract now.
type Status struct {
	Contract    string
	Head, Final uint64           // of the ledger, as this node follows it
	Unread      string           // why Final is not known, and so neither range nor coordinator; empty if it is
	Range       uint64           // by its own height
	Coordinator ledger.Account   // that is named for the range; another one may be at work after a failure
	Next        ledger.Account   // for the range after it
	Order       []ledger.Account // the committee for the range: the coordinator, then those that take its place if it fails
	NextOrder   []ledger.Account // for the range after it
	Intents     map[string]int   // of this node's users, by their states
	Takes       uint64           // blocks that an intent of this node takes, from its assembly until it is final; 0: not measured
	Missing     int              // attempts that have landed, whose contents this node lacks
	Members     []Member         // the others, in the contract's order

	Coordinates map[string]int    // pieces of work of this node as a coordinator, at each stage; nil: it is not in the committee
	Inherited   int               // attempts that others have dispatched, and that it waits for as one
	Landed      uint64            // entries of this node that have landed since its start
	Skipped     map[string]uint64 // those that have not, by why: each reason is there
	Drained     bool              // it coordinates no more

	Unsigned string // why this node can sign nothing; empty if it can
	Waits    string // why what this node has dispatched is in no block, empty if nothing is known to be in the way
	Nudges   uint64 // empty transactions that were sent since the node's start, since the chain stood still
}

// Member is what a node has last heard of another member of a contract.
type Member struct {
	Account ledger.Account
	Final   uint64    // the last final block that it spoke of; 0: of none
	At      time.Time // zero if nothing was heard since the node's start
	Differs bool      // it has another declaration of the contract, or none
	Forges  bool      // its signatures or its entries were wrong, and it is left out for a while
	Idle    bool      // nothing came of what this node has given it to coordinate, and it is left out for a while
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
	if err := n.find(ctx, contract, func() {}); err != nil {
		return nil, err
	}
	return n.cfg.Store.List(ctx, contract, f)
}

// Status returns what the node knows of a contract. One that sleeps is woken for it.
func (n *Node) Status(ctx context.Context, address string) (Status, error) {
	return reach(ctx, n, address, func(p *place) Status {
		s := n.look(p)
		if s.Final == 0 {
			s.Unread = "no block of it is final yet"
		}
		if why := n.unsigned.Load(); why != nil {
			s.Unsigned = *why
		}
		return s
	})
}

// Look is Status, but wakes nobody and waits for no database or chain: of a contract that sleeps it tells what it was when
// it fell asleep, and of one that could not be read yet why.
func (n *Node) Look(ctx context.Context, address string) (Status, error) {
	return ask(ctx, n, address, func(p *place, answer func(Status), _ func()) {
		s := n.look(p)
		if why := p.why.Load(); s.Final == 0 && why != nil {
			s.Unread = *why
		}
		if why := n.unsigned.Load(); why != nil && n.core.IsAwake(address) {
			s.Unsigned = *why
		}
		answer(s)
	})
}

// look returns what the core knows of a contract, and what the members have declared.
func (n *Node) look(p *place) Status {
	known := n.core.Look(p.address(), time.Now())
	s := Status{
		Contract: known.Contract, Head: known.Head, Final: known.Final, Unread: known.Unread, Range: uint64(known.Range), Coordinator: known.Coordinator,
		Next: known.Next, Order: known.Order, NextOrder: known.NextOrder, Intents: known.Intents, Takes: known.Takes, Missing: known.Missing, Drained: known.Drained, Waits: known.Waits, Nudges: known.Nudges,
		Skipped: map[string]uint64{},
	}
	for _, h := range known.Members {
		s.Members = append(s.Members, Member{h.Account, h.Final, h.At, n.differ.has(s.Contract, h.Account), h.Forges, h.Idle})
	}
	for _, end := range coordinator.Ends() {
		s.Skipped[end] = 0
	}
	if c := known.Coordinates; c != nil {
		s.Coordinates, s.Inherited = c.Stages, c.Inherited
		maps.Copy(s.Skipped, c.Ended)
	}
	s.Landed = s.Skipped[coordinator.Landed]
	delete(s.Skipped, coordinator.Landed)
	return s
}
