package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Status is what a node knows of a contract now.
type Status struct {
	Contract    string
	Head, Final uint64           // of the ledger, as this node follows it
	Unread      string           // why Final is not known, and so neither range nor coordinator; empty if it is
	Range       ranking.Range    // by its own height
	Coordinator ledger.Account   // that is named for the range; another one may be at work after a failure
	Next        ledger.Account   // for the range after it
	Order       []ledger.Account // the committee as it is ranked for the range
	NextOrder   []ledger.Account // and for the one after it
	Intents     map[string]int   // of this node, by their states
	Takes       uint64           // blocks that an intent of this node takes, from its assembly until it is final; 0: not measured
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
	Forges  bool      // its signatures or its entries were wrong, and it is left out for a while
	Idle    bool      // nothing came of what this node has given it to coordinate, and it is left out for a while
}

// heard is what was last heard of a member.
type heard struct {
	final uint64
	at    time.Duration
}

// Look returns what is known of a contract: of one that sleeps, what it was when it fell asleep. Wall is the time of day. What
// is known outside alone is missing: why this node can sign nothing, who has another declaration, and why a contract cannot be read.
func (c *Core) Look(address string, wall time.Time) Status {
	p := c.places[address]
	s := p.last
	if p.open != nil {
		s = p.open.status()
	}
	s.Drained = p.drained
	if s.Final == 0 {
		s.Unread = p.whyUnread()
	}
	s.Members = nil
	for _, a := range p.set.Declared.Members {
		if a == c.cfg.Self {
			continue
		}
		one := Heard{Account: a}
		if h, is := p.heard[a]; is {
			one.Final, one.At = h.final, wall.Add(h.at-c.now)
		}
		if p.open != nil {
			one.Forges, one.Idle = slices.Contains(p.open.forges(), a), slices.Contains(p.open.Sender.Idlers(), a)
		}
		s.Members = append(s.Members, one)
	}
	return s
}

// whyUnread says why nothing is known of a contract's blocks.
func (p *place) whyUnread() string {
	if p.opening || p.open != nil {
		return "it is being read"
	}
	return "nothing has happened in it, and it is read when something does"
}

func (k *contract) status() Status {
	head, final := k.Sender.Height()
	r := k.committee.RangeOf(final)
	order, next := accounts(k.committee.Order(r)), accounts(k.committee.Order(r+1))
	s := Status{
		Contract: k.address(), Head: head, Final: final, Range: r, Intents: k.Sender.Counts(), Missing: len(k.Book.Missing()), Takes: k.pace.blocks(),
		Waits: cmp.Or(k.errands.refused, k.errands.waits), Nudges: k.place.nudges, Drained: k.place.drained,
		Coordinator: order[0], Next: next[0], Order: order, NextOrder: next,
	}
	if k.Coordinator != nil {
		s.Coordinates = new(k.Coordinator.Status())
		for end, n := range k.place.ended {
			s.Coordinates.Ended[end] += n
		}
	}
	return s
}

func accounts(names []string) (all []ledger.Account) {
	for _, name := range names {
		all = append(all, ledger.Account(name))
	}
	return all
}

// forges returns the members whose signatures or entries were wrong.
func (k *contract) forges() []ledger.Account {
	all := k.Sender.Blamed()
	if k.Coordinator != nil {
		all = append(all, k.Coordinator.Status().Forges...)
	}
	return all
}

// noteHeight notes a member's height, for the operator, and for the sender, which gives a coordinator its time anew that was behind and has
// caught up. It may say anything: the sender bounds what that gains. Some messages say none, such as those of a member whose contract sleeps.
func (p *place) noteHeight(from ledger.Account, final uint64, now time.Duration) {
	if p.heard == nil {
		p.heard = map[ledger.Account]heard{}
	}
	p.heard[from] = heard{cmp.Or(final, p.heard[from].final), now}
}
