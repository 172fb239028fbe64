package sequencer

import (
	"context"
	"time"

	"github.com/conchhq/conch/sequencer/ledger"
)

// What comes within so long after entries were handed over goes together, up to so many in a transaction: in a batch of
// fifty an entry costs two thirds of what it costs alone. The first one does not wait.
const (
	gathering    = 50 * time.Millisecond
	mostTogether = 50
)

// submit hands a transaction to the ledger, after those before.
func (c *contract) submit(tx ledger.Sent) {
	c.unsent = append(c.unsent, tx)
	if !c.sending {
		c.handOver()
	}
}

func (c *contract) handOver() {
	next := together(c.unsent)
	c.unsent, c.sending = nil, true
	c.n.group.Go(func() {
		for _, tx := range next {
			c.n.insist("a transaction is not taken", c.address(), func(ctx context.Context) error { return c.set.Ledger.Submit(ctx, tx) })
		}
		pause := time.NewTimer(gathering)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-c.n.ctx.Done():
		}
		c.n.post(func() {
			if c.sending = false; len(c.unsent) > 0 {
				c.handOver()
			}
		})
	})
}

// together joins transactions of entries, of the same sender, that follow each other. The order of the entries stays: a
// state's creator is before its readers, and those before its spender.
func together(all []ledger.Sent) (joined []ledger.Sent) {
	for _, tx := range all {
		if tx.Cancel != nil {
			joined = append(joined, tx)
			continue
		}
		for _, e := range tx.Entries {
			if last := len(joined) - 1; last >= 0 && joined[last].Cancel == nil && joined[last].By == tx.By && len(joined[last].Entries) < mostTogether {
				joined[last].Entries = append(joined[last].Entries, e)
			} else {
				joined = append(joined, ledger.Sent{By: tx.By, Entries: []ledger.Entry{e}})
			}
		}
	}
	return joined
}
