package sequencer

import (
	"context"
	"time"

	"github.com/conchhq/conch/sequencer/coordinator"
	"github.com/conchhq/conch/sequencer/ledger"
)

// What comes within so long after entries were handed over goes together, up to so many in a transaction: in a batch of
// fifty an entry costs two thirds of what it costs alone. The first one does not wait.
const (
	gathering    = 50 * time.Millisecond
	mostTogether = 50
)

// reviewPatience is how long a review may take: what is to be submitted waits for it.
const reviewPatience = 10 * time.Second

// errand is something for the ledger that keeps its place in the order.
type errand struct {
	tx     ledger.Sent
	review *coordinator.Review // instead of tx
}

// submit hands a transaction to the ledger, after those before.
func (c *contract) submit(tx ledger.Sent) { c.errand(errand{tx: tx}) }

func (c *contract) errand(e errand) {
	c.unsent = append(c.unsent, e)
	if !c.sending {
		c.handOver()
	}
}

func (c *contract) handOver() {
	next := together(c.unsent)
	c.unsent, c.sending = nil, true
	c.n.group.Go(func() {
		for _, e := range next {
			if e.review != nil {
				c.review(*e.review)
			} else {
				c.handIn(e.tx)
			}
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

// handIn has the ledger take a transaction, however long that takes.
func (c *contract) handIn(tx ledger.Sent) {
	failed := false
	c.n.insist("a transaction is not taken", c.address(), func(ctx context.Context) error {
		err := c.set.Ledger.Submit(ctx, tx)
		if err != nil {
			failed = true
			c.n.post(func() { c.refused = "not taken: " + err.Error() })
		}
		return err
	})
	if failed {
		c.n.post(func() { c.refused = "" })
	}
}

// review asks the ledger what has become of entries, once: the coordinator asks again.
func (c *contract) review(r coordinator.Review) {
	in, waits, err := c.look(r)
	c.n.post(func() {
		c.waits = waits
		c.report(len(in.Lost), waits, err)
		c.toCoordinator(in)
	})
}

// report has the log say when reviews begin to fail, and when the first entries are given up; not for each review.
func (c *contract) report(lost int, waits string, err error) {
	c.trouble(&c.blind, err, "it is not known what has become of what was submitted", "it is known again what has become of what was submitted")
	switch {
	case err != nil: // what was lost before may be lost still
	case lost == 0:
		c.lost.ends(c.n.now())
	case c.lost.meets(c.n.now()):
		c.n.cfg.Log.Warn("what was submitted was given up, and is submitted again while its grants last", "contract", c.address(), "entries", lost, "error", waits)
	}
}

// look returns what a review finds, and why entries wait.
func (c *contract) look(r coordinator.Review) (in coordinator.Reviewed, waits string, err error) {
	reviewer, can := c.set.Ledger.(Reviewer)
	if !can {
		return in, "", nil
	}
	ctx, cancel := context.WithTimeout(c.n.ctx, reviewPatience)
	defer cancel()
	lost, waits, err := reviewer.Review(ctx, r.Awaited)
	if err != nil {
		return coordinator.Reviewed{Failed: true}, "nobody knows: " + err.Error(), err
	}
	return coordinator.Reviewed{Lost: lost}, waits, nil
}

// together joins transactions of entries, of the same sender, that follow each other. The order of the entries stays: a
// state's creator is before its readers, and those before its spender.
func together(all []errand) (joined []errand) {
	for _, one := range all {
		if one.review != nil || one.tx.Cancel != nil {
			joined = append(joined, one)
			continue
		}
		for _, e := range one.tx.Entries {
			if last := len(joined) - 1; last >= 0 && joined[last].takes(one.tx.By) {
				joined[last].tx.Entries = append(joined[last].tx.Entries, e)
			} else {
				joined = append(joined, errand{tx: ledger.Sent{By: one.tx.By, Entries: []ledger.Entry{e}}})
			}
		}
	}
	return joined
}

// takes reports whether one more entry of a sender goes with it. A review has no sender.
func (e errand) takes(by ledger.Account) bool {
	return e.tx.Cancel == nil && e.tx.By == by && len(e.tx.Entries) < mostTogether
}
