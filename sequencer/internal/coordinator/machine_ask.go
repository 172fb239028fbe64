package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// ask is a request of this node that waits for its answer. What is answered later than its deadline, or by another, is
// nobody's.
type ask struct {
	kind     wire.Kind
	to       ledger.Account
	until    time.Duration
	works    []*work          // in the order of the request's items
	seats    []uint64         // of the attempts that the request is about
	turn     *loser           // whose exclusive turn the request to assemble is
	held     []ledger.StateID // states withheld in it
	tenure   int              // in which it was asked for a handover
	base     uint64           // of the context, 0 if it is whole
	version  uint64           // of the context that its answer confirms
	lacks    []ledger.StateID // for which the context had no room
	upstream bool             // the request to endorse carries what its attempts are built on
	view     uint64           // what could be offered when it was sent
}

// ask sends a request about work.
func (m *Machine) ask(to ledger.Account, body wire.Body, works []*work) *ask {
	a := &ask{works: works}
	m.send(a, to, body)
	return a
}

func (m *Machine) send(a *ask, to ledger.Account, body wire.Body) {
	m.number++
	a.kind, a.to, a.until = body.Kind(), to, m.now+m.set.Silence
	for _, w := range a.works {
		a.seats = append(a.seats, w.seat)
	}
	m.asks[m.number] = a
	m.do(Send{To: to, Message: wire.Message{
		Contract: m.set.Contract.Address, Height: m.final(), Wait: m.set.Silence, Body: body,
		Request: wire.RequestID{Incarnation: m.set.Incarnation, Number: m.number},
	}})
}

// answered finds what an answer belongs to, and ends it.
func (m *Machine) answered(from ledger.Account, id wire.RequestID, kind wire.Kind) *ask {
	a := m.asks[id.Number]
	if a == nil || id.Incarnation != m.set.Incarnation || a.to != from || a.kind != kind {
		return nil
	}
	m.end(id.Number)
	return a
}

// end forgets a request that was answered, or was not in time.
func (m *Machine) end(number uint64) {
	if a := m.asks[number]; a.kind == wire.KindAskGrant {
		m.client(a.to).granting--
		m.changedReady = true
	}
	delete(m.asks, number)
}

// same reports whether a work is still at the attempt for which the request was made.
func (a *ask) same(i int) bool { return a.works[i].seat == a.seats[i] }

// received takes a message apart. A request gets exactly one answer (I10); an answer that nobody waits for is dropped.
func (m *Machine) received(from ledger.Account, msg wire.Message, forged bool) {
	if m.memberOf(from) == nil {
		if isRequest(msg.Body) {
			m.answer(from, msg.Request, wire.Rejected{Why: wire.NotMember, Text: "only members of the contract are answered"})
		}
		return
	}
	m.awake(from)
	if forged {
		kind := wire.KindEndorse
		if msg.Body.Kind() == wire.KindGranted {
			kind = wire.KindAskGrant
		}
		if a := m.answered(from, msg.Request, kind); a != nil {
			m.forged(a)
		}
		return
	}
	switch body := msg.Body.(type) {
	case wire.Delegate:
		m.answer(from, msg.Request, m.delegated(from, body))
	case wire.AskList:
		m.answer(from, msg.Request, m.list(from))
	case wire.AskHandover:
		m.answer(from, msg.Request, m.handover(from, body))
	case wire.Assembled:
		if a := m.answered(from, msg.Request, wire.KindAssemble); a != nil {
			m.assembled(a, body)
		}
	case wire.Endorsed:
		if a := m.answered(from, msg.Request, wire.KindEndorse); a != nil {
			m.endorsed(a, body)
		}
	case wire.Granted:
		m.granted(from, m.answered(from, msg.Request, wire.KindAskGrant), body)
	case wire.Noted:
		if a := m.answered(from, msg.Request, wire.KindDispatched); a != nil {
			m.noted(a)
		}
	case wire.Handover:
		if a := m.answered(from, msg.Request, wire.KindAskHandover); a != nil {
			m.inherit(a, body)
		}
	case wire.Rejected:
		if a := m.asks[msg.Request.Number]; a != nil && m.answered(from, msg.Request, a.kind) != nil {
			m.rejected(a, body)
		}
	default:
		if isRequest(msg.Body) {
			m.answer(from, msg.Request, wire.Rejected{Why: wire.Malformed, Text: "a coordinator is not asked this"})
		}
	}
}

func isRequest(b wire.Body) bool {
	switch b.(type) {
	case wire.Delegate, wire.Assemble, wire.Endorse, wire.AskGrant, wire.Dispatched, wire.AskList, wire.AskHandover, wire.AskAttempts:
		return true
	}
	return false
}

// overdue ends the requests that were not answered in time.
func (m *Machine) overdue() {
	for _, n := range slices.Sorted(maps.Keys(m.asks)) {
		a := m.asks[n]
		if m.now < a.until {
			continue
		}
		m.end(n)
		switch a.kind { //nolint:exhaustive // the others are asked by nobody here
		case wire.KindAssemble:
			m.unanswered(a)
		case wire.KindEndorse:
			m.unendorsed(a)
		case wire.KindAskGrant:
			m.ungranted(a)
		case wire.KindDispatched, wire.KindAskHandover: // they are asked again by the clock
		}
	}
}

func (m *Machine) rejected(a *ask, r wire.Rejected) {
	switch {
	case a.kind == wire.KindAssemble && r.Why == wire.OutOfStep && a.base > 0:
		m.client(a.to).knows = 0
		m.back(a)
	case a.kind == wire.KindAssemble:
		m.unanswered(a)
	case a.kind == wire.KindEndorse:
		m.unendorsed(a)
	case a.kind == wire.KindAskGrant:
		m.ungranted(a)
	case a.kind == wire.KindAskHandover: // it has nothing to hand over that it would tell
		m.inherit(a, wire.Handover{})
	}
}
