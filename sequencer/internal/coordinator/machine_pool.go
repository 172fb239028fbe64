package coordinator

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// delegated takes work. Better coordinators are no reason to refuse it: a sender whose link to the better one is cut
// would starve. What decides is whether the range that it names is near (P9, P21, P37, D17).
func (m *Machine) delegated(from ledger.Account, d wire.Delegate) wire.Body {
	if m.drained { // its sender goes to the next one, and looks here again ever more seldom
		return wire.Rejected{Why: wire.Moved, Text: "it is drained, and coordinates nothing"}
	}
	own, window := m.own(), ranking.Delegation
	if m.set.Strict {
		window = ranking.Strict
	}
	if !window.Takes(own, d.Range) {
		return farFrom(own, d.Range)
	}
	if m.set.Strict && m.firstOf(own, d.Avoid) != m.set.Self {
		return wire.Rejected{Why: wire.Moved, Text: "another node coordinates this range"}
	}
	c := m.client(from)
	if len(c.works)+len(d.Intents) > m.set.Pool {
		return wire.Rejected{Why: wire.Busy, Text: "too many intents of yours are here"}
	}
	under := c.delegations[d.Delegation]
	if under == nil {
		under = &delegation{id: d.Delegation, rng: d.Range, avoid: slices.Clone(d.Avoid), until: m.now + m.set.KeptFor}
	}
	for _, o := range d.Intents {
		m.adopt(c, under, o)
	}
	m.enter(c, under)
	return wire.Accepted{}
}

func farFrom(own, named ranking.Range) wire.Rejected {
	if named < own {
		return wire.Rejected{Why: wire.TooOld, Text: "that range is long over here"}
	}
	return wire.Rejected{Why: wire.TooNew, Text: "that range is far ahead of this node"}
}

// enter keeps a delegation that has work.
func (m *Machine) enter(c *client, d *delegation) {
	if d.intact == 0 {
		return
	}
	if c.delegations == nil {
		c.delegations = map[ledger.Hash]*delegation{}
	}
	c.delegations[d.id] = d
	m.begin(d.rng)
}

func (m *Machine) adopt(c *client, under *delegation, o wire.Offer) {
	w := c.works[o.Sequence]
	if w != nil && w.noted && m.tell(w, disowned) {
		w = nil
	}
	if w == nil {
		m.seats++
		w = &work{
			Intent: ledger.Intent{Owner: c.account, Sequence: o.Sequence}, owner: c, payload: o.Payload, order: m.seats,
			delegation: under,
		}
		c.works[o.Sequence], m.works[w.Intent] = w, w
		c.digest.Add(o.Sequence, 1)
		under.intact++
		c.fresh = append(c.fresh, w.list())
		return
	}
	if was := w.delegation; was != under && m.tell(w, delegatedAgain) {
		if was != nil {
			if was.intact--; was.intact == 0 {
				delete(c.delegations, was.id)
			}
		}
		m.seats++
		w.delegation, w.order = under, m.seats
		under.intact++
		c.fresh = append(c.fresh, w.list())
	}
}

// listed is work in a list of what is to be assembled. It counts in the last list only into which it was put.
type listed struct {
	*work
	at uint64
}

func (w *work) list() listed {
	w.listedAt++
	return listed{w, w.listedAt}
}

func (l listed) waits() bool { return l.state == pooled && l.at == l.listedAt }

// loser is a client that has lost states to another, and whose next request has what came of them for itself. An
// intent whose sender is slow would else lose each time.
type loser struct {
	client *client
	lost   []ledger.StateID
	tips   []ledger.StateID // while it is its turn
	turn   bool
}

const mostTips = 64

// losesOn gives a client a turn to come.
func (m *Machine) losesOn(c *client, lost []ledger.StateID) {
	if len(lost) == 0 {
		return
	}
	if c.lost == nil {
		c.lost = &loser{client: c}
		m.losers = append(m.losers, c.lost)
	}
	if len(c.lost.lost) < mostTips {
		c.lost.lost = append(c.lost.lost, lost...)
	}
}

func (m *Machine) endTurn(l *loser) {
	if l == nil {
		return
	}
	if l.client.lost == l {
		l.client.lost = nil
	}
	m.losers = slices.DeleteFunc(m.losers, func(x *loser) bool { return x == l })
}

// turns lets losers have their turn whose states are nobody else's, and returns what is somebody's.
func (m *Machine) turns() (held map[ledger.StateID]*loser) {
	held = map[ledger.StateID]*loser{}
	for _, l := range m.losers {
		for _, id := range l.tips {
			held[id] = l
		}
	}
	for _, l := range m.losers {
		if l.turn || l.client.asking != nil || m.now < l.client.aside {
			continue
		}
		tips := m.flight.tips(l.lost, mostTips)
		if slices.ContainsFunc(tips, func(id ledger.StateID) bool { return held[id] != nil }) {
			continue
		}
		l.turn, l.tips = true, tips
		for _, id := range tips {
			held[id] = l
		}
	}
	return held
}

// assemble asks each sender that has work and waits for nothing for attempts: many requests at once, one a sender.
func (m *Machine) assemble() {
	m.unblock()
	if m.inFlight >= m.set.InFlight {
		return
	}
	var held map[ledger.StateID]*loser
	for _, c := range m.order {
		if c.asking != nil || m.now < c.aside || len(c.fresh)+len(c.again) == 0 {
			continue
		}
		if held == nil {
			held = m.turns()
		}
		if c.lost != nil && !c.lost.turn {
			continue
		}
		m.request(c, held)
	}
}

func (m *Machine) request(c *client, held map[ledger.StateID]*loser) {
	batch := c.next(m.set.Batch)
	if len(batch) == 0 {
		m.endTurn(c.lost)
		return
	}
	var body wire.Assemble
	for _, w := range batch {
		m.tell(w, asked)
		body.Items = append(body.Items, wire.Step{Sequence: w.Sequence, Delegation: w.delegation.id})
	}
	for _, id := range inOrder(held) {
		if held[id].client != c {
			body.Withheld = append(body.Withheld, id)
		}
	}
	var lacks []ledger.StateID
	body.Context, lacks = m.flight.context(c.knows, c.lacks, m.room(body))
	c.asking = m.ask(c.account, body, batch)
	c.asking.base, c.asking.lacks = body.Context.Base, lacks
	for _, w := range batch {
		w.request = c.asking
	}
	c.asking.turn, c.asking.held, c.asking.version = c.lost, body.Withheld, body.Context.Version
	c.asking.view = m.view()
}

// next takes the work to be assembled next out of the lists: what was given up before what is new, in submit order.
func (c *client) next(most int) (batch []*work) {
	slices.SortFunc(c.again, func(a, b listed) int { return cmp.Compare(a.order, b.order) })
	for _, list := range []*[]listed{&c.again, &c.fresh} {
		n := 0
		for _, l := range *list {
			if len(batch) == most {
				break
			}
			n++
			if l.waits() {
				batch = append(batch, l.work)
			}
		}
		if *list = (*list)[n:]; len(*list) == 0 {
			*list = nil
		}
	}
	return batch
}

// view counts the changes of what can be offered.
func (m *Machine) view() uint64 { return m.flight.version() + m.seen }

// stale is how long work waits for other states at most: a node may have heard of states that are not news here.
const stale = 2 * time.Second

// unblock lets work be tried again for which the states were not there: once they have changed, or after a while.
func (m *Machine) unblock() {
	view := m.view()
	for _, c := range m.order {
		if len(c.blocked) > 0 && m.now >= c.blockAt && (c.sawAt != view || m.now >= c.blockAt+stale) {
			c.again = append(c.again, c.blocked...)
			c.blocked = nil
		}
	}
	due := 0
	for due < len(m.delayed) && m.delayed[due].later <= m.now {
		if l := m.delayed[due]; l.waits() {
			l.owner.again = append(l.owner.again, l)
		}
		due++
	}
	m.delayed = m.delayed[due:]
}

// delay has work assembled again when its time comes.
func (m *Machine) delay(w *work) {
	at, _ := slices.BinarySearchFunc(m.delayed, w.later, func(x listed, t time.Duration) int {
		if x.later <= t {
			return -1
		}
		return 1
	})
	m.delayed = slices.Insert(m.delayed, at, w.list())
}
