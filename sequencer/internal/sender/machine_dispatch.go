package sender

import (
	"slices"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// dispatchedBy notes what a node has handed to the chain, and says so when it is stored (P32, P39). It comes again until
// then. A node has dispatched only what it was granted.
func (m *Machine) dispatchedBy(from ledger.Account, request wire.RequestID, body wire.Dispatched) {
	if request.Number == 0 {
		return
	}
	n := note{to: from, request: request}
	for _, item := range body.Items {
		it := m.intents[item.Sequence]
		if it == nil {
			continue
		}
		until, is := it.untilOf(item.Assembled, from)
		if !is {
			continue
		}
		if it.state == Dispatched && it.dispatched == item.Assembled {
			continue // stored already
		}
		m.tell(it, happening{event: handed, hash: item.Assembled, until: until, by: wire.Places(item.Endorsers)})
		if it.state == Noting || it.state == Included {
			if it.waitsFor = nil; m.peer(from).active > m.cfg.Batch {
				m.spare(m.peer(from), 0) // others had to wait
			}
			m.mark(Mark{Sequence: it.Sequence, Dispatched: item.Assembled})
			n.intents = append(n.intents, it)
		}
	}
	if len(n.intents) == 0 {
		m.answer(from, request, wire.Noted{})
		return
	}
	m.commit.notes = append(m.commit.notes, n)
}

// handed leaves the intent to the ledger.
func (m *Machine) handed(it *intent, h *happening) wire.Why {
	m.detach(it)
	it.attempt, it.asking = nil, nil
	it.dispatched, it.until, it.why = h.hash, h.until, ""
	m.to(it, Noting)
	m.expire(it)
	return wire.Done
}

// handedLate notes the dispatch of what a block has already.
func (m *Machine) handedLate(it *intent, h *happening) wire.Why {
	it.dispatched, it.until = h.hash, h.until
	return wire.Done
}

func (m *Machine) handedStored(it *intent, _ *happening) wire.Why {
	m.to(it, Dispatched)
	return wire.Done
}

// expire looks at the intent again when the head is past its grant.
func (m *Machine) expire(it *intent) {
	m.expiring.remove(it.due, it)
	it.due = max(it.until, m.head)
	m.expiring.add(it.due, it)
}

// returnedBy takes intents back that were not dispatched (P16), or that were, and that a submitter has given up. The word of a node kills
// no grant: it only allows the next one at once, and the ledger takes one of the two.
func (m *Machine) returnedBy(from ledger.Account, body wire.Returned) {
	if m.work == nil {
		return
	}
	for _, item := range body.Items {
		it := m.intents[item.Sequence]
		if it == nil {
			continue
		}
		if body.Why == wire.Failed {
			if it.isDispatchedBy(from, item.Delegation) {
				m.tell(it, happening{event: notSent})
			}
			continue
		}
		if g := it.grant; g != nil && g.To == from && g.Grant.Delegation == item.Delegation {
			it.young = 0
			m.spare(m.peer(from), longest) // if this node is behind its grants are of no use, and it is set aside
		}
		if !it.has(from, item.Delegation) {
			continue
		}
		if body.Why == wire.Refused {
			m.tell(it, happening{event: returnedFaulty, fault: "the members refuse it"})
		} else {
			m.tell(it, happening{event: returned})
		}
	}
}

// isDispatchedBy reports whether the attempt that was dispatched last was granted to a node under a delegation.
func (it *intent) isDispatchedBy(by ledger.Account, under ledger.Hash) bool {
	return slices.ContainsFunc(it.given, func(g *given) bool {
		return g.To == by && g.Grant.Delegation == under && g.Assembled == it.dispatched && !g.over
	})
}
