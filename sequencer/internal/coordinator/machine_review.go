package coordinator

import (
	"cmp"
	"slices"

	"github.com/conchhq/conch/sequencer/ledger"
)

// mostAgain is how often an entry is handed over again: what its submitter gives up each time goes back to its owner, who need not wait
// for the end of the grant (P34).
const mostAgain = 3

// review compares what is dispatched with what the submitter has. It may have given a transaction up: then nothing carries
// its entries. And it may have one that waits, and can only be skipped by now. What this node has not dispatched itself is
// not looked for: it landed by another coordinator, and its block was taken back.
func (m *Machine) review() {
	if !m.owes || m.reviewing || m.now < m.reviewAt && !m.hurried || len(m.judging) > 0 {
		return
	}
	m.reviewing, m.owes, m.hurried, m.reviewAt = true, false, false, m.now+m.set.Review
	var awaited []*work
	for _, w := range m.works {
		if w.state == dispatched && w.stored {
			m.owes = true
			if !w.doomed && w.grant.ValidUntil > m.head {
				awaited = append(awaited, w)
			}
		}
	}
	m.do(Review{Awaited: m.entries(awaited)})
}

// reviewSoon plans the next review. The first one comes after a while: most entries are in a block by then.
func (m *Machine) reviewSoon() {
	if !m.owes {
		m.owes, m.reviewAt = true, m.now+m.set.Review
	}
}

// reviewed hands over again what no transaction carries, more and more rarely, and in the end gives it back: each of the transactions that
// this node has made of it has ended for certain, so none can land. It proves nothing to others, and only the ledger ends the grant (Q2).
func (m *Machine) reviewed(in Reviewed) {
	m.reviewing = false
	if in.Failed {
		m.owes = true
		return
	}
	var again []*work
	for _, e := range in.Lost {
		w := m.works[e.Intent]
		if w == nil || w.state != dispatched || w.doomed || !sameGrant(w.grant, e.Grant) || w.grant.ValidUntil < m.head+fewestLeft {
			continue
		}
		if m.now < w.againAt {
			continue
		}
		if w.again == mostAgain {
			m.tell(w, abandoned)
			continue
		}
		w.again++
		w.againAt = m.now + m.set.Review<<w.again
		again = append(again, w)
	}
	m.submit(m.entries(again))
}

func sameGrant(a, b ledger.Grant) bool {
	return a.Assembled == b.Assembled && a.Delegation == b.Delegation && a.ValidUntil == b.ValidUntil
}

// entries returns what is put before the ledger, in the order in which it came on board: what a work is built on goes first.
func (m *Machine) entries(works []*work) (all []ledger.Entry) {
	slices.SortFunc(works, func(a, b *work) int { return cmp.Compare(a.seat, b.seat) })
	for _, w := range works {
		all = append(all, m.dispatch(w).Entry())
	}
	return all
}
