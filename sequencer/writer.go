package sequencer

import (
	"context"
	"slices"

	"github.com/conchhq/conch/sequencer/internal/core"
)

// mostWritten is how many changes are made durable in one transaction.
const mostWritten = 1000

// write makes changes durable, in their order, as many as wait in one transaction. If an answer is missing the same changes are
// written again, and change nothing the second time: nobody hears of them before (P38).
func (n *Node) write() {
	sweep := newSweep(n.cfg.Contracts)
	defer sweep.timer.Stop()
	for {
		select {
		case <-n.writes.Ready():
			for batch := range slices.Chunk(n.writes.Take(), mostWritten) {
				n.commit(batch)
			}
		case <-sweep.timer.C:
			n.trim(sweep)
		case <-n.ctx.Done():
			return
		}
	}
}

func (n *Node) commit(batch []core.Write) {
	changes := make([]core.Change, len(batch))
	for i, w := range batch {
		changes[i] = w.Change
	}
	var twice []core.Twice
	n.insist("the database does not store", "", func(ctx context.Context) (err error) {
		twice, err = n.cfg.Store.Write(ctx, changes)
		return err
	})
	if n.ctx.Err() != nil {
		return // whether it is durable is read at the next start
	}
	done := core.Written{Twice: twice}
	for _, w := range batch {
		done.IDs = append(done.IDs, w.ID)
	}
	n.put(done)
}
