package sequencer

import (
	"context"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/core"
)

// What a core knows.
type (
	// Status is what a node knows of a contract now.
	Status = core.Status
	// Heard is what a node has last heard of a member.
	Heard = core.Heard
)

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
	s := n.core.Look(p.address(), time.Now())
	for i := range s.Members {
		s.Members[i].Differs = n.differ.has(s.Contract, s.Members[i].Account)
	}
	return s
}
