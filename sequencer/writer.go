package sequencer

import (
	"context"

	"github.com/conchhq/conch/sequencer/core"
)

// queue has a change written after all that were queued before.
func (n *Node) queue(w core.Write) {
	n.backlog = append(n.backlog, w)
	n.refill()
}

// write makes changes durable, all that wait in one transaction. If an answer is missing the same changes are written
// again, and change nothing the second time: nobody hears of them before (P38).
func (n *Node) write() {
	sweep := newSweep(n.cfg.Contracts)
	defer sweep.timer.Stop()
	for {
		var batch []core.Write
		select {
		case w := <-n.writes:
			batch = append(batch, w)
		case <-sweep.timer.C:
			n.trim(sweep)
			continue
		case <-n.ctx.Done():
			return
		}
		for more := true; more && len(batch) < 1000; {
			select {
			case w := <-n.writes:
				batch = append(batch, w)
			default:
				more = false
			}
		}
		n.commit(batch)
	}
}

func (n *Node) commit(batch []core.Write) {
	changes := make([]Change, len(batch))
	for i, w := range batch {
		changes[i] = w.Change
	}
	var twice []Twice
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
	n.post(func() {
		n.feed(done)
		n.refill()
	})
}

// refill moves what did not fit on to the writer, in its order.
func (n *Node) refill() {
	for len(n.backlog) > 0 {
		select {
		case n.writes <- n.backlog[0]:
			n.backlog = n.backlog[1:]
		default:
			return
		}
	}
}
