package sender

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

const (
	mostOffers  = 1024 // of one Delegate
	firstPause  = 100 * time.Millisecond
	believed    = 5           // times MoveAfter that a node is believed which says that this one is behind
	longestBusy = time.Second // between two offers to one that is behind or busy; and to one for which this node is behind
)

// queue puts an intent among those that wait for a coordinator.
func (m *Machine) queue(it *intent) {
	if it.queued {
		return
	}
	it.queued = true
	m.unsorted = m.unsorted || len(m.waiting) > 0 && m.waiting[len(m.waiting)-1].order > it.order
	m.waiting = append(m.waiting, it)
}

// delegate offers the intents that wait to the node of choice, in the order of submission. One offer of a delegation is
// on its way at a time, so that none overtakes another (I4).
func (m *Machine) delegate() {
	m.rested()
	for len(m.waiting) > 0 && m.waiting[0].state != Waiting {
		m.waiting[0].queued = false
		m.waiting = m.waiting[1:]
	}
	if len(m.waiting) == 0 {
		return
	}
	to, avoid := m.choice()
	if to == nil {
		return
	}
	d := m.current
	if d == nil || d.closed || d.to != to || d.ranged != m.ordered || !slices.Equal(d.avoid, avoid) {
		d = m.open(to, avoid)
	}
	if d.open != nil || d.againAt > m.now {
		return
	}
	if m.unsorted {
		slices.SortFunc(m.waiting, func(a, b *intent) int { return cmp.Compare(a.order, b.order) })
		m.unsorted = false
	}
	if m.waiting[0].order < d.reached {
		d = m.open(to, avoid)
	}
	m.offer(d)
}

// open begins a delegation.
func (m *Machine) open(to *peer, avoid []ledger.Account) *delegation {
	d := &delegation{to: to, ranged: m.ordered, avoid: avoid}
	m.delegations++
	copy(d.id[:], m.cfg.Incarnation[:])
	binary.BigEndian.PutUint64(d.id[len(d.id)-8:], m.delegations)
	m.current, m.working = d, append(m.working, d)
	return d
}

// elsewhere offers an intent alone to a node that is not the one of choice.
func (m *Machine) elsewhere(it *intent, to *peer, avoid []ledger.Account) {
	current := m.current
	d := m.open(to, avoid)
	m.current, d.closed = current, true
	m.send(d, []*intent{it})
}

// offer sends the first of those that wait.
func (m *Machine) offer(d *delegation) {
	var first []*intent
	for len(m.waiting) > 0 && len(first) < mostOffers {
		it := m.waiting[0]
		it.queued = false
		if m.waiting = m.waiting[1:]; it.state == Waiting {
			first = append(first, it)
		}
	}
	if len(first) > 0 {
		m.send(d, first)
	}
}

func (m *Machine) send(d *delegation, intents []*intent) {
	o, body := &offer{sent: m.now, before: d.reached, intents: intents}, wire.Delegate{Delegation: d.id, Range: d.ranged, Avoid: d.avoid}
	for _, it := range intents {
		m.tell(it, happening{event: offered, to: d})
		body.Intents = append(body.Intents, wire.Offer{Sequence: it.Sequence, Payload: it.hash})
		d.reached = it.order + 1
	}
	o.number = m.ask(d.to.account, body)
	d.open, m.offers[o.number] = o, d
}

func (m *Machine) offered(it *intent, h *happening) wire.Why {
	m.to(it, Delegated)
	it.with, it.under = h.to.to, h.to.id
	h.to.add(it)
	return wire.Done
}

// answered takes the open offer to which an answer belongs, or returns nil.
func (m *Machine) answered(from ledger.Account, request wire.RequestID) (*delegation, *offer) {
	if m.work == nil || request.Incarnation != m.cfg.Incarnation {
		return nil, nil
	}
	d := m.offers[request.Number]
	if d == nil || d.to.account != from {
		return nil, nil
	}
	o := d.open
	m.withdraw(d)
	return d, o
}

// withdraw forgets the open offer.
func (m *Machine) withdraw(d *delegation) {
	if d.open != nil {
		delete(m.offers, d.open.number)
		d.open = nil
	}
}

// close adds no more to a delegation, and forgets its open offer.
func (m *Machine) close(d *delegation) {
	d.closed = true
	m.withdraw(d)
}

func (m *Machine) acceptedBy(from ledger.Account, request wire.RequestID) {
	d, o := m.answered(from, request)
	if d == nil {
		return
	}
	d.behind, d.rest, d.againAt = 0, 0, 0
	for _, it := range o.intents {
		if it.under == d.id {
			m.tell(it, happening{event: acknowledged})
		}
	}
}

func (m *Machine) acknowledged(it *intent, _ *happening) wire.Why {
	m.to(it, Accepted)
	it.since, it.expected, it.active, it.poor = m.now, it.with, true, false
	it.with.digest.Add(it.Sequence, 1)
	if it.with.active++; it.with.since == 0 {
		m.givesTime(it.with)
	}
	return wire.Done
}

// rejectedBy takes a refusal of an offer. Who is behind, or busy, is asked again soon; who is ahead, when this node may
// have caught up; any other is left out (P22, P23).
func (m *Machine) rejectedBy(from ledger.Account, request wire.RequestID, body wire.Rejected) {
	d, o := m.answered(from, request)
	if d == nil {
		return
	}
	switch body.Why {
	case wire.TooOld: // a node that says so for ever is left out too: this one may not be behind at all
		m.pause(d, longestBusy, believed*m.cfg.MoveAfter)
	case wire.TooNew, wire.Busy:
		m.pause(d, min(max(2*d.rest, firstPause), longestBusy), m.cfg.MoveAfter)
	default:
		m.close(d)
		m.fail(d.to)
	}
	d.reached = o.before
	for _, it := range o.intents {
		if it.under == d.id {
			it.why = body.Why.String()
			m.tell(it, happening{event: declined})
		}
	}
}

// pause offers to a node again after a while, and leaves it out if that goes on for too long.
func (m *Machine) pause(d *delegation, rest, most time.Duration) {
	if d.behind == 0 {
		d.behind = max(m.now, 1)
	}
	d.rest, d.againAt = rest, m.now+rest
	if m.now-d.behind > most {
		m.close(d)
		m.fail(d.to)
	}
}
