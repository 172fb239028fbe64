package sender

import (
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// leastBlocks is how many blocks a grant must have left to be given again instead of a new one.
const leastBlocks = 2

// grantAsk is an AskGrant that is being answered.
type grantAsk struct {
	from    ledger.Account
	by      ledger.Account
	request wire.RequestID
	items   []wire.GrantStep
	results []wire.GrantResult
	wants   []want
}

// asker names a request and who asks: any node can use another's number.
type asker struct {
	from    ledger.Account
	request wire.RequestID
}

// want is an item whose grant's row is being stored.
type want struct {
	item  int
	it    *intent
	given *given
}

// askGrant answers a coordinator that is ready to dispatch. All rows of the request are one Store, and the answer
// leaves when it is committed (P38).
func (m *Machine) askGrant(from ledger.Account, request wire.RequestID, body wire.AskGrant) {
	if request.Number == 0 {
		return
	}
	if body.By == "" {
		m.answer(from, request, wire.Rejected{Why: wire.Malformed, Text: "it does not say who sends the entries"})
		return
	}
	if m.work != nil && m.asks[asker{from, request}] != nil {
		return // it is answered when it is stored
	}
	a := &grantAsk{from: from, by: body.By, request: request, items: body.Items, results: make([]wire.GrantResult, len(body.Items))}
	for i, item := range body.Items {
		why := wire.Ended
		if it := m.intents[item.Sequence]; it != nil {
			event := askedGrant
			if !it.has(from, item.Delegation) {
				event = askedElsewhere
			}
			why = m.tell(it, happening{event: event, ask: a, item: i})
		}
		a.results[i].Sequence, a.results[i].Why = item.Sequence, why
	}
	if len(a.wants) == 0 {
		m.answer(from, request, wire.Granted{Items: a.results})
		return
	}
	m.asks[asker{from, request}] = a
	m.commit.asks = append(m.commit.asks, a)
}

// grants writes the row of a grant, if this start has assembled the attempt for this delegation (P30).
func (m *Machine) grants(it *intent, h *happening) wire.Why {
	item := h.ask.items[h.item]
	if m.again(it, h.ask, h.item) {
		return wire.Done
	}
	a := it.attempt
	if a == nil || a.Assembled != item.Assembled {
		return wire.Unknown
	}
	if it.state == Granted && m.now < it.young && it.grant.ValidUntil >= m.head+leastBlocks {
		return wire.NotBefore // for another account: with one row for each, a node could fill the store
	}
	row := *a
	row.ValidUntil, row.To, row.Request = m.head+m.cfg.Contract.Life, h.ask.from, h.ask.request
	row.Grant = ledger.Grant{Assembled: row.Assembled, Coordinator: h.ask.by, Delegation: it.under, ValidUntil: row.ValidUntil}
	m.store.Grants = append(m.store.Grants, row)
	it.asking = h.ask
	h.ask.wants = append(h.ask.wants, want{item: h.item, it: it, given: it.giveRow(row)})
	m.to(it, Granting)
	return wire.Done
}

// again gives the stored grant again, if it is asked for once more and lasts.
func (m *Machine) again(it *intent, ask *grantAsk, item int) bool {
	g := it.grant
	if g == nil || it.state == Accepted || g.Assembled != ask.items[item].Assembled ||
		g.Grant.Delegation != it.under || g.Grant.Coordinator != ask.by || g.Request != ask.request && g.ValidUntil < m.head+leastBlocks {
		return false
	}
	ask.results[item].Grant = g.Grant
	return true
}

func (m *Machine) grantsAgain(it *intent, h *happening) wire.Why {
	if m.again(it, h.ask, h.item) {
		return wire.Done
	}
	return wire.NotBefore
}

// answerGrants sends what is stored. Intents that have moved meanwhile get no grant, although its row is there.
func (m *Machine) answerGrants(a *grantAsk) {
	delete(m.asks, asker{a.from, a.request})
	for _, w := range a.wants {
		if a.results[w.item].Why = m.tell(w.it, happening{event: grantStored, ask: a}); a.results[w.item].Why == wire.Done {
			a.results[w.item].Grant, w.it.grant = w.given.Grant, w.given
		}
	}
	for i, item := range a.items { // grants that are repeated in an answer which had to wait
		r := &a.results[i]
		if it := m.intents[item.Sequence]; r.Why == wire.Done && (it == nil || it.grant == nil || it.grant.Grant.Delegation != item.Delegation || !it.has(a.from, item.Delegation)) {
			*r = wire.GrantResult{Sequence: item.Sequence, Why: wire.Moved}
		}
	}
	m.answer(a.from, a.request, wire.Granted{Items: a.results})
}

func (m *Machine) granted(it *intent, h *happening) wire.Why {
	if it.asking != h.ask {
		return wire.Moved
	}
	m.to(it, Granted)
	it.asking, it.young = nil, m.now+m.cfg.RegrantAfter
	return wire.Done
}
