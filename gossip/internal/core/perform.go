package core

import (
	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/overlay"
	overlaywire "github.com/conchhq/conch/gossip/internal/overlay/wire"
	"github.com/conchhq/conch/gossip/internal/wire"
)

// doOverlay does what the machine that connects asks for.
func (c *Core) doOverlay(a overlay.Action) {
	switch a := a.(type) {
	case overlay.Connect:
		c.connectPeer(a.Peer)
	case overlay.Disconnect:
		if c.leaving < 2 {
			c.disconnectPeer(a.Peer)
		}
	case overlay.Send:
		if body, err := overlaywire.Encode(a.Message); err == nil {
			c.ask(Send{Line: LineOverlay, To: []string{a.To}, Body: body})
		} else {
			c.counts.Unsent++
		}
	case overlay.Gained:
		c.neighbours[a.Peer], c.stale = true, true
	case overlay.Lost:
		delete(c.neighbours, a.Peer)
		c.stale = true
	case overlay.Refused:
		c.refuse(a.From, refusal(a.Why))
	}
}

// doHint does what the machine that suggests asks for.
func (c *Core) doHint(a hint.Action) {
	switch a := a.(type) {
	case hint.Send:
		if body, err := wire.Encode(a.Parcel); err == nil {
			c.ask(Send{Line: LineGossip, To: a.To, Body: body})
		} else {
			c.counts.Unsent += uint64(len(a.To))
		}
	case hint.Suggested:
		c.tellFact(a, a.Leader)
	case hint.Heard:
		c.tellFact(a, a.Subject)
	case hint.SteppedDown:
		c.tellFact(a, wire.Subject{})
	case hint.Refused:
		c.tellFact(a, a.Subject)
	case hint.Twin:
		c.tellFact(a, a.Subject)
	}
}

// tellFact tells the user something, with the name that its subject has now.
func (c *Core) tellFact(fact hint.Action, of wire.Subject) { c.ask(Tell{fact, c.nameOf(of)}) }
