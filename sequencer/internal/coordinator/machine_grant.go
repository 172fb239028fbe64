package coordinator

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// fewestLeft is how many blocks a grant must still last, or its entry would come too late.
const fewestLeft = 2

// grant asks for the grants of attempts for which nothing else is missing: one asked for earlier would expire in the
// hand. Like a member that endorses, an owner has a few requests at a time: if thousands are ready at once, more would
// wait there until their time is over, and all would be for nothing.
func (m *Machine) grant() {
	if len(m.ready) == 0 || m.holding() || len(m.judging) > 0 { // what was loaded is submitted first
		return
	}
	slices.SortFunc(m.ready, func(a, b *work) int { return cmp.Compare(a.seat, b.seat) })
	batches := map[*client]*ask{}
	left := m.ready[:0]
	var last *work
	for _, w := range m.ready {
		if w.state != ready || w == last {
			continue
		}
		last = w
		c := w.owner
		if batches[c] == nil {
			batches[c] = &ask{}
		}
		if c.granting >= mostAsked {
			left = append(left, w)
			continue
		}
		if !m.sound(w) {
			m.tell(w, overtaken)
			continue
		}
		if m.now < c.aside || !m.free(w, batches[c]) {
			left = append(left, w)
			continue
		}
		m.tell(w, grantAsked)
		w.request = batches[c]
		if w.request.works = append(w.request.works, w); len(w.request.works) == m.set.Batch {
			m.askGrant(c, w.request)
			delete(batches, c)
		}
	}
	clear(m.ready[len(left):])
	m.ready = left
	for _, c := range m.order {
		if a := batches[c]; a != nil && len(a.works) > 0 {
			m.askGrant(c, a)
		}
	}
}

func (m *Machine) askGrant(c *client, a *ask) {
	body := wire.AskGrant{By: m.set.Self}
	for _, w := range a.works {
		body.Items = append(body.Items, wire.GrantStep{Step: wire.Step{Sequence: w.Sequence, Delegation: w.delegation.id}, Assembled: w.assembled})
	}
	c.granting++
	m.send(a, c.account, body)
}

// granted takes grants, whose signatures were verified. A grant that is not used is returned at once: its owner would
// else wait with the next one. What was handed over before is never returned (Q2).
func (m *Machine) granted(from ledger.Account, a *ask, body wire.Granted) {
	c := m.client(from)
	if a == nil || len(body.Items) != len(a.works) {
		m.returnGrants(c, body.Items)
		if a != nil {
			m.ungrantedAll(a)
		}
		return
	}
	var rows []*work
	var unused []wire.GrantResult
	grants, refuses := false, false
	for i, item := range body.Items {
		w := a.works[i]
		mine := a.lacksGrant(i)
		given := mine && item.Why == wire.Done && m.usable(w, item.Grant)
		grants = grants || given
		switch {
		case given && m.free(w, a):
			w.grant = item.Grant
			m.tell(w, grantGiven)
			rows = append(rows, w)
		case mine && (item.Why == wire.Ended || item.Why == wire.Moved):
			m.tell(w, withdrawn)
		case mine:
			refuses = refuses || !given
			w.later = m.now + rest
			m.tell(w, ungranted)
			unused = append(unused, item)
		default:
			unused = append(unused, item)
		}
	}
	m.returnGrants(c, unused)
	switch {
	case grants:
		c.mute, c.strikes, c.aside = false, 0, 0
		m.memberOf(from).forges = false
	case refuses: // it answers, and does not grant
		m.withhold(c)
	}
	m.store(rows)
}

// usable reports whether a grant is for this attempt and this node, and lasts long enough.
func (m *Machine) usable(w *work, g ledger.Grant) bool {
	return g.Assembled == w.assembled && g.Coordinator == m.set.Self && g.Delegation == w.delegation.id && g.ValidUntil >= m.head+fewestLeft
}

// returnGrants says that grants are not used and never will be by this incarnation: it has no row for them.
func (m *Machine) returnGrants(c *client, items []wire.GrantResult) {
	var steps []wire.Step
	for _, item := range items {
		w := c.works[item.Sequence]
		if item.Why != wire.Done || w != nil && w.state >= storing && w.assembled == item.Grant.Assembled {
			continue
		}
		steps = append(steps, wire.Step{Sequence: item.Sequence, Delegation: item.Grant.Delegation})
	}
	if len(steps) > 0 {
		m.notice(c.account, wire.Returned{Items: steps, Why: wire.Unknown})
	}
}

// ungranted unwinds attempts whose sender does not answer, and what is built on them.
func (m *Machine) ungranted(a *ask) {
	m.ungrantedAll(a)
	m.withhold(m.client(a.to))
}

// withhold sets a sender aside that grants nothing, and unwinds also the attempts for which it is not asked yet: they would hold
// their states until it is.
func (m *Machine) withhold(c *client) {
	var more []*work
	for _, w := range c.works {
		if w.state == endorsing || w.state == ready {
			more = append(more, w)
		}
	}
	slices.SortFunc(more, func(a, b *work) int { return cmp.Compare(b.seat, a.seat) }) // each is built on those before
	for _, w := range more {
		m.tell(w, ungranted)
	}
	c.mute = true
	m.setAside(c)
}

func (m *Machine) ungrantedAll(a *ask) {
	for _, w := range slices.Backward(a.works) { // the last ones first: each is built on those before
		if w.state == granting && w.request == a {
			m.tell(w, ungranted)
		}
	}
}

// store makes the rows of a dispatch durable before anything is submitted (P38).
func (m *Machine) store(works []*work) {
	if len(works) == 0 {
		return
	}
	m.storing++
	m.stores[m.storing] = works
	s := Store{Number: m.storing}
	for _, w := range works {
		s.Rows = append(s.Rows, Row{Dispatch: m.dispatch(w)})
	}
	m.changedReady = true
	m.do(s)
}

func (m *Machine) dispatch(w *work) wire.Dispatch {
	return wire.Dispatch{Whole: w.whole, Endorsements: w.signed[:min(m.set.Contract.Needed, len(w.signed))], Grant: w.grant}
}

// stored hands what is durable to the submitter, in order, and tells its senders until they say that they know (P32).
func (m *Machine) stored(number uint64) {
	works := m.stores[number]
	delete(m.stores, number)
	var entries []ledger.Entry
	for _, w := range works {
		switch w.state {
		case storing, included:
			m.tell(w, rowStored)
		case dispatched: // a block had it before the database did, and was taken back
		default:
			continue // a block has decided it meanwhile
		}
		w.stored = true
		entries = append(entries, m.dispatch(w).Entry())
		m.lasts(w)
	}
	m.submit(entries)
	m.untell(works)
}

func (m *Machine) submit(entries []ledger.Entry) {
	for part := range slices.Chunk(entries, m.set.Batch) {
		m.do(Submit{Entries: part})
	}
}

// untell has the senders told of dispatches.
func (m *Machine) untell(works []*work) {
	for _, w := range works {
		if w.state == dispatched {
			c := w.owner
			if len(c.untold) == 0 {
				c.toldAt, c.toldTries = m.now, 0
			}
			c.untold = append(c.untold, w)
			c.fresher = true
		}
	}
	for _, c := range m.order {
		if c.fresher {
			c.fresher = false
			m.tellSender(c, works)
		}
	}
}

// mostTold is how many dispatches a sender is told in one message.
const mostTold = 800

// tellSender sends Dispatched for those of the works that are the sender's.
func (m *Machine) tellSender(c *client, works []*work) {
	mine := slices.DeleteFunc(slices.Clone(works), func(w *work) bool { return w.owner != c || w.state != dispatched || w.noted })
	for part := range slices.Chunk(mine, mostTold) {
		var body wire.Dispatched
		for _, w := range part {
			body.Items = append(body.Items, wire.Handed{Sequence: w.Sequence, Assembled: w.assembled, Endorsers: w.endorsers(m.set.Contract.Needed)})
		}
		m.ask(c.account, body, part)
	}
}

// tellAgain repeats what senders have not confirmed, more and more rarely (P35).
func (m *Machine) tellAgain() {
	for _, c := range m.order {
		if len(c.untold) == 0 || m.now < c.toldAt+min(m.set.Silence<<min(c.toldTries, 16), time.Minute) {
			continue
		}
		c.untold = slices.DeleteFunc(c.untold, func(w *work) bool { return w.noted || w.state != dispatched })
		c.toldAt, c.toldTries = m.now, c.toldTries+1
		m.tellSender(c, c.untold)
	}
}

// noted stores that a sender knows (P38).
func (m *Machine) noted(a *ask) {
	m.client(a.to).toldTries = 0 // it answers: what it does not confirm got lost
	var n Note
	for i, w := range a.works {
		if !w.noted && a.same(i) {
			w.noted = true
			n.Intents = append(n.Intents, w.Intent)
		}
	}
	if len(n.Intents) > 0 {
		m.do(n)
	}
}
