package core

import (
	"log/slog"
	"time"

	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/ledger"
)

// What comes within so long after entries were handed over goes together, up to so many in a transaction: in a batch of
// fifty an entry costs two thirds of what it costs alone. The first one does not wait.
const (
	gathering    = 50 * time.Millisecond
	mostTogether = 50
)

// errand is something for the ledger that keeps its place in the order.
type errand struct {
	tx     ledger.Sent
	review *coordinator.Review // instead of tx
}

// submit hands a transaction to the ledger, after those before.
func (k *contract) submit(tx ledger.Sent) { k.errand(errand{tx: tx}) }

func (k *contract) errand(e errand) {
	k.unsent = append(k.unsent, e)
	if !k.sending {
		k.handOver()
	}
}

func (k *contract) handOver() {
	next := together(k.unsent)
	k.unsent, k.sending = nil, true
	k.handNext(next)
}

// handNext does one errand after the other, and waits before the next ones.
func (k *contract) handNext(next []errand) {
	c := k.core
	switch {
	case len(next) == 0:
		c.act(Wait{For: gathering, ID: c.ask(func(Answered) {
			if k.sending = false; len(k.unsent) > 0 {
				k.handOver()
			}
		})})
	case next[0].review != nil:
		c.act(Review{Contract: k.address(), Awaited: next[0].review.Awaited, ID: c.ask(func(a Answered) {
			k.reviewed(a)
			k.handNext(next[1:])
		})})
	default:
		c.act(HandIn{Contract: k.address(), Sent: next[0].tx, ID: c.ask(func(Answered) {
			k.refused = ""
			k.handNext(next[1:])
		})})
	}
}

// reviewed takes what has become of entries, or that nobody knows: the coordinator asks again.
func (k *contract) reviewed(a Answered) {
	in := coordinator.Reviewed{Lost: a.Lost}
	if k.waits = a.Waits; a.Err != nil {
		in, k.waits = coordinator.Reviewed{Failed: true}, "nobody knows: "+a.Err.Error()
	}
	k.report(len(in.Lost), k.waits, a.Err)
	k.toCoordinator(in)
}

// report has the log say when reviews begin to fail, and when the first entries are given up; not for each review.
func (k *contract) report(lost int, waits string, err error) {
	k.trouble(&k.blind, err, "it is not known what has become of what was submitted", "it is known again what has become of what was submitted")
	switch {
	case err != nil: // what was lost before may be lost still
	case lost == 0:
		k.lost.ends(k.core.now)
	case k.lost.meets(k.core.now):
		k.say(slog.LevelWarn, "what was submitted was given up, and is submitted again while its grants last", "entries", lost, "error", waits)
	}
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
