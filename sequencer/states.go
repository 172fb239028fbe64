package sequencer

import (
	"context"

	"github.com/conchhq/conch/sequencer/domain"
)

// States returns up to most of a contract's states with a label, as their rules give it: those that are there in the last
// block that this node has followed. It may lack some while [Status].Missing is not 0, and a block may still be taken back.
func (n *Node) States(ctx context.Context, address, label string, most int) ([]domain.State, error) {
	return ask(ctx, n, address, func(p *place, answer func([]domain.State)) bool {
		return n.with(p, 0, func(c *contract) { answer(c.labelled(label, most)) })
	})
}

func (c *contract) labelled(label string, most int) (all []domain.State) {
	if most <= 0 {
		return nil
	}
	for s := range c.book.Labelled(label, 0) {
		if all = append(all, s); len(all) == most {
			break
		}
	}
	return all
}
