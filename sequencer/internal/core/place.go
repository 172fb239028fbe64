package core

import (
	"log/slog"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// place is a contract at this node. When nothing happens in it for a while it falls asleep: what it was is in the store, and
// the next event reads it from there, as a start does (P42). A node may have many contracts in which nothing happens: one
// that sleeps has no machines, and its ledger is not followed. It comes to no harm: whatever happens in a contract begins with
// a message to each of its members.
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

	drained bool                     // the node coordinates it no more
	heard   map[ledger.Account]heard // what was last heard of its members; nil before the first message
}

// What waits until a contract is read: so many events, and so many bytes of messages. What comes then is refused.
const (
	mostWaits = 10_000
	mostHeld  = 16 << 20
)

// withContract does something with a contract's machines, now or when they are there. It returns false if too much waits for them:
// then it is never done. Size is that of the message that it is about.
func (c *Core) withContract(p *place, size int, do func(*contract)) bool {
	if p.open != nil && !p.open.behind {
		p.open.busyAt = c.now
		do(p.open)
		return true
	}
	if len(p.waits) == mostWaits || p.held > 0 && p.held+size > mostHeld {
		c.act(Say{slog.LevelDebug, "a contract takes long to be read, and a message is refused", []any{"contract", p.set.Declared.Address}})
		return false
	}
	p.held += size
	p.waits = append(p.waits, do)
	c.rouseContract(p)
	return true
}

func (c *Core) reachContract(in Reach) {
	if !c.withContract(c.places[in.Contract], in.Size, func(*contract) { c.act(Reached{in.Ticket}) }) {
		c.act(Busy{in.Ticket})
	}
}

// rouseContract reads a contract, as soon as that can be done, unless that is done already.
func (c *Core) rouseContract(p *place) {
	if p.opening || p.open != nil {
		return
	}
	p.opening = true
	c.act(Open{p.set.Declared.Address, p.number})
}

// needsAnswer reports whether a verdict or a grant in the answer to a request may count.
func (p *place) needsAnswer(answer wire.RequestID, at int) bool {
	return p.open == nil || p.open.Coordinator != nil && p.open.Coordinator.Needs(answer, at)
}

// hasMember reports whether an account is a member.
func (p *place) hasMember(a ledger.Account) bool { return slices.Contains(p.set.Declared.Members, a) }

// contractOpened begins with a contract's machines. What waits for them goes on waiting until they know of the blocks of the
// meantime: they would else speak of heights that are long past.
func (c *Core) contractOpened(in Opened) {
	k := in.contract
	p := k.place
	if in.Asleep {
		p.last = k.status()
		return
	}
	c.lives++
	k.life, k.busyAt = c.lives, c.now
	p.open, p.opening = k, false
	c.awake = append(c.awake, p)
	c.act(Follow{k.address(), k.life, k.after})
	k.toSender(sender.Tick{}) // what is to be done first
	k.toCoordinator(coordinator.Drain{On: p.drained})
	if !k.behind {
		c.contractReady(p)
	}
}

// mostBehind is how long events wait for a ledger that does not tell of its blocks.
const mostBehind = 2 * time.Second

// contractReady does what has waited.
func (c *Core) contractReady(p *place) {
	waits := p.waits
	p.open.behind, p.waits, p.held = false, nil, 0
	for _, do := range waits {
		c.withContract(p, 0, do)
	}
}

// restIdle lets contracts fall asleep in which nothing happens.
func (c *Core) restIdle() {
	for _, p := range c.awake {
		if p.open.behind && c.now-p.open.busyAt >= mostBehind {
			c.contractReady(p)
		}
	}
	c.awake = slices.DeleteFunc(c.awake, func(p *place) bool {
		k := p.open
		if k.behind || c.now-k.busyAt < c.cfg.SleepAfter || !k.allStored() {
			return false
		}
		c.act(Unfollow{k.address()})
		k.asleep = true
		p.last = k.status()
		if p.open = nil; k.Coordinator != nil {
			p.number, p.ended = k.Coordinator.Number(), p.last.Coordinates.Ended
		}
		return true
	})
}

// allStored reports whether the store has all of the contract.
func (k *contract) allStored() bool {
	return len(k.errands.unsent) == 0 && !k.errands.sending && k.writing == 0 && k.Sender.Idle() && (k.Coordinator == nil || k.Coordinator.Idle()) &&
		k.Endorser.Idle() && k.Book.Idle()
}
