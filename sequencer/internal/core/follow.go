package core

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/ledger"
)

// stepFollowed feeds the book before the machines.
func (k *contract) stepFollowed(in Followed) {
	if k.life != in.Life {
		return // it has slept meanwhile
	}
	var err error
	switch step := in.Step.(type) {
	case ledger.Block:
		err = k.Book.Block(step)
		for _, f := range step.Facts {
			if w, known := k.Book.Whole(f.Assembled); known && f.Skipped == ledger.Missing {
				k.absent.reconcileStates(slices.Concat(w.Attempt.Inputs, w.Attempt.Reads), nil)
			}
		}
	case ledger.Rewind:
		err = k.Book.Rewind(step)
	}
	if err != nil {
		k.say(slog.LevelError, "the ledger goes on as no ledger may", "step", fmt.Sprint(in.Step), "error", err)
		return
	}
	k.keepBook()
	k.toSender(in.Step)
	k.toCoordinator(in.Step)
	k.toEndorser(in.Step)
	if head, _ := k.Book.Height(); k.behind && head >= k.until {
		k.core.contractReady(k.place)
	}
}

// keepBook stores what the book has learnt.
func (k *contract) keepBook() {
	if b, is := k.Book.Final(); is {
		k.storeChange(Change{Book: &b}, nil)
	}
}

// heartbeatHeard takes a heartbeat, which is about several contracts.
func (c *Core) heartbeatHeard(in Beaten) {
	for _, p := range in.Beat.Contracts {
		if at := c.places[p.Contract]; at != nil && at.hasMember(in.From) {
			c.withContract(at, 0, func(k *contract) {
				at.noteHeight(in.From, p.Height, c.now)
				k.toSender(sender.Pulse{From: in.From, Incarnation: in.Beat.Incarnation, Pulse: p})
				k.toCoordinator(coordinator.Heard{From: in.From, Pulse: p})
			})
		}
	}
}
