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

// errands are what the contract has for the ledger, in order, and what has become of it.
type errands struct {
	of      *contract
	unsent  []errand
	sending bool   // errands before those are being done
	refused string // why the ledger does not take what is handed to it
	waits   string // why what was handed over is in no block, as the last review has it
	lost    spell  // no transaction carries some entries
	blind   spell  // reviews fail
}

// submitSent hands a transaction to the ledger, after those before.
func (k *contract) submitSent(tx ledger.Sent) { k.errands.addErrand(errand{tx: tx}) }

func (h *errands) addErrand(e errand) {
	h.unsent = append(h.unsent, e)
	if !h.sending {
		h.handOver()
	}
}

func (h *errands) handOver() {
	next := together(h.unsent)
	h.unsent, h.sending = nil, true
	h.handNext(next)
}

// handNext does one errand after the other, and waits before the next ones.
func (h *errands) handNext(next []errand) {
	k, c := h.of, h.of.core
	switch {
	case len(next) == 0:
		c.act(Wait{For: gathering, ID: c.askQuestion(func(Answered) {
			if h.sending = false; len(h.unsent) > 0 {
				h.handOver()
			}
		})})
	case next[0].review != nil:
		c.act(Review{Contract: k.address(), Awaited: next[0].review.Awaited, ID: c.askQuestion(func(a Answered) {
			h.reviewAnswered(a)
			h.handNext(next[1:])
		})})
	default:
		c.act(HandIn{Contract: k.address(), Sent: next[0].tx, ID: c.askQuestion(func(Answered) {
			h.refused = ""
			h.handNext(next[1:])
		})})
	}
}

// reviewAnswered takes what has become of entries, or that nobody knows: the coordinator asks again.
func (h *errands) reviewAnswered(a Answered) {
	in := coordinator.Reviewed{Lost: a.Lost}
	if h.waits = a.Waits; a.Err != nil {
		in, h.waits = coordinator.Reviewed{Failed: true}, "nobody knows: "+a.Err.Error()
	}
	h.reportReview(len(in.Lost), h.waits, a.Err)
	h.of.toCoordinator(in)
}

// reportReview has the log say when reviews begin to fail, and when the first entries are given up; not for each review.
func (h *errands) reportReview(lost int, waits string, err error) {
	h.of.sayTrouble(&h.blind, err, "it is not known what has become of what was submitted", "it is known again what has become of what was submitted")
	switch {
	case err != nil: // what was lost before may be lost still
	case lost == 0:
		h.lost.ends(h.of.core.now)
	case h.lost.meets(h.of.core.now):
		h.of.say(slog.LevelWarn, "what was submitted was given up, and is submitted again while its grants last", "entries", lost, "error", waits)
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
