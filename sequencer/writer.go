package sequencer

import (
	"context"

	"github.com/conchhq/conch/sequencer/ledger"
)

// write is a change, and what the loop does once it is durable.
type write struct {
	Change
	then func(twice []ledger.Sequence) // may be nil
}

// queue has a change written after all that were queued before.
func (n *Node) queue(w write) {
	n.backlog = append(n.backlog, w)
	n.refill()
}

// write makes changes durable, all that wait in one transaction. If an answer is missing the same changes are written
// again, and change nothing the second time: nobody hears of them before (P38).
func (n *Node) write() {
	sweep := newSweep(n.cfg.Contracts)
	defer sweep.timer.Stop()
	for {
		var batch []write
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

func (n *Node) commit(batch []write) {
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
	n.post(func() {
		for _, w := range batch {
			if w.then == nil {
				continue
			}
			var of []ledger.Sequence
			for _, t := range twice {
				if w.Sender != nil && t.Contract == w.Contract && hasIntent(w, t.Sequence) {
					of = append(of, t.Sequence)
				}
			}
			w.then(of)
		}
		n.refill()
	})
}

func hasIntent(w write, s ledger.Sequence) bool {
	for _, row := range w.Sender.Intents {
		if row.Sequence == s {
			return true
		}
	}
	return false
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
