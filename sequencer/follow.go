package sequencer

import (
	"context"
	"fmt"
	"slices"

	"github.com/conchhq/conch/sequencer/coordinator"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sender"
	"github.com/conchhq/conch/sequencer/wire"
)

// follow feeds blocks to the loop, as long as the contract is awake.
func (c *contract) follow() {
	after := c.after
	c.n.insistOn("the ledger cannot be followed", c.address(), func(_ context.Context, well func()) error {
		if c.ctx.Err() != nil {
			return errNoMore
		}
		err := c.set.Ledger.Follow(c.ctx, after, func(in any) {
			well()
			switch in := in.(type) {
			case ledger.Block:
				after = in.Number
			case ledger.Rewind:
				after = in.To
			}
			c.n.post(func() { c.followed(in) })
		})
		if c.ctx.Err() != nil {
			return errNoMore
		}
		return away(err)
	})
}

// followed feeds the book before the machines.
func (c *contract) followed(in any) {
	if c.ctx.Err() != nil {
		return
	}
	var err error
	switch in := in.(type) {
	case ledger.Block:
		err = c.book.Block(in)
		for _, f := range in.Facts {
			if w, known := c.book.Whole(f.Assembled); known && f.Skipped == ledger.Missing {
				c.reconcile(slices.Concat(w.Attempt.Inputs, w.Attempt.Reads), nil)
			}
		}
	case ledger.Rewind:
		err = c.book.Rewind(in)
	}
	if err != nil {
		c.n.cfg.Log.Error("the ledger goes on as no ledger may", "contract", c.address(), "step", fmt.Sprint(in), "error", err)
		return
	}
	c.keep()
	c.toSender(in)
	c.toCoordinator(in)
	c.toEndorser(in)
	if head, _ := c.book.Height(); c.behind && head >= c.until {
		c.n.ready(c.place)
	}
}

// keep stores what the book has learnt.
func (c *contract) keep() {
	if b, is := c.book.Final(); is {
		c.store(Change{Book: &b}, nil)
	}
}

// pulse is one contract's part of a heartbeat.
func (n *Node) pulse(from ledger.Account, incarnation wire.Incarnation, p wire.Pulse) {
	if at := n.contracts[p.Contract]; at != nil && at.has(from) {
		n.with(at, 0, func(c *contract) {
			at.hears(from, p.Height)
			c.toSender(sender.Pulse{From: from, Incarnation: incarnation, Pulse: p})
			c.toCoordinator(coordinator.Heard{From: from, Pulse: p})
		})
	}
}
