package sequencer

import (
	"context"

	"github.com/conchhq/conch/sequencer/domain"
)

// States returns up to most of a contract's states with a label, as their rules give it: those that are there in the last
// block that this node has followed. It may lack some while [Status].Missing is not 0, and a block may still be taken back.
func (n *Node) States(ctx context.Context, address, label string, most int) ([]domain.State, error) {
	return reach(ctx, n, address, func(*place) (all []domain.State) {
		m, awake := n.core.Machines(address)
		if !awake || most <= 0 {
			return nil
		}
		for s := range m.Book.Labelled(label, 0) {
			if all = append(all, s); len(all) == most {
				break
			}
		}
		return all
	})
}
