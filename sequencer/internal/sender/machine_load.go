package sender

import (
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// load takes what the store had: intents are delegated afresh, what is dispatched waits for the ledger, and every one
// is judged once, since it may have landed before (P39, P42).
func (m *Machine) load() {
	m.loaded = true
	m.begin()
	again := map[wire.RequestID]*Send{} // grants to be sent once more, by the request that they answer (2S)
	var sends []*Send
	for _, l := range m.cfg.Load.Intents {
		it := m.restore(l)
		m.question(it)
		if it.state != Waiting || it.grant == nil || it.grant.Assembled == l.Over {
			continue
		}
		g := it.grant
		send := again[g.Request]
		if send == nil {
			send = &Send{To: g.To, Message: wire.Message{Contract: m.cfg.Contract.Address, Height: m.final(), Request: g.Request, Body: wire.Granted{}}}
			again[g.Request], sends = send, append(sends, send)
		}
		items, _ := send.Message.Body.(wire.Granted)
		items.Items = append(items.Items, wire.GrantResult{Sequence: it.Sequence, Grant: g.Grant})
		send.Message.Body = items
	}
	for _, s := range sends {
		m.do(*s)
	}
	m.cfg.Load = Load{}
}

// restore begins an intent of an earlier start.
func (m *Machine) restore(l Loaded) *intent {
	it := m.add(l.IntentRow)
	it.loaded, it.failures = true, l.Failures
	for _, g := range l.Grants {
		it.grant = it.giveRow(g)
	}
	if it.overs(l.Over); it.grant != nil && it.grant.Assembled != l.Over {
		it.young = m.now + m.cfg.RegrantAfter
	}
	dispatched := l.Dispatched != ledger.Hash{} && l.Dispatched != l.Over
	switch {
	case l.GivenUp != "":
		it.giveUp = l.GivenUp
		m.to(it, Ending)
		m.endings = append(m.endings, it)
		m.annul(it)
	case dispatched && (it.grant == nil || it.grant.Assembled == l.Dispatched):
		it.dispatched = l.Dispatched
		it.until, _ = it.untilOf(l.Dispatched, "")
		if it.grant != nil {
			it.with = m.peer(it.grant.To) // by no delegation of this start (P42)
		}
		m.to(it, Dispatched)
		m.expire(it)
	default:
		m.to(it, Waiting)
		m.queue(it)
	}
	if it.Deadline > 0 && it.Deadline <= m.final() {
		m.tell(it, happening{event: overdue})
	}
	return it
}
