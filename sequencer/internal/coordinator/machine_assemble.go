package coordinator

import (
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// rest is how long an intent rests that could not be assembled, for a reason that is not a conflict.
const rest = 200 * time.Millisecond

// assembled takes a sender's attempts. They are decided by arrival: the first one that comes has the states.
func (m *Machine) assembled(a *ask, body wire.Assembled) {
	c := m.client(a.to)
	c.asking = nil
	m.endTurn(a.turn)
	if len(body.Results) != len(a.works) {
		m.returnAll(slices.DeleteFunc(a.works, func(w *work) bool { return w.request != a }), wire.Refused, "")
		return
	}
	c.knows, c.lacks = a.version, a.lacks
	yields := len(a.held) > 0 && c.yielded != a.view // perhaps another's turn was in its way: it has one too, once for these states
	var won []*work
	var gone []wire.Step
	var lost []ledger.StateID
	for i, r := range body.Results {
		w := a.works[i]
		if w.state != assembling || w.request != a {
			continue
		}
		switch why, by := m.attempt(w, r); why {
		case wire.Done:
			won = append(won, w)
		case wire.Ended, wire.Moved, wire.Unknown:
			m.tell(w, withdrawn)
		case wire.Conflict:
			m.tell(w, unattempted)
			if by == nil && yields {
				by, c.yielded = a.held, a.view
			}
			if by != nil {
				c.again = append(c.again, w.list())
				lost = append(lost, by...)
			} else {
				c.block(w, a.view, m.now)
			}
		case wire.NotBefore:
			m.rest(w, min(max(r.NotBefore, 10*time.Millisecond), m.set.LongestAside))
		case wire.Refused:
			gone = append(gone, wire.Step{Sequence: w.Sequence, Delegation: w.delegation.id})
			m.tell(w, unattempted)
			m.tell(w, closed)
		default:
			m.rest(w, rest)
		}
	}
	m.losesOn(c, lost)
	if len(gone) > 0 {
		m.notice(c.account, wire.Returned{Items: gone, Why: wire.Refused})
	}
	m.endorse(won)
}

// rest has work assembled again after a while.
func (m *Machine) rest(w *work, wait time.Duration) {
	m.tell(w, unattempted)
	w.later = m.now + wait
	m.delay(w)
}

// block has work assembled again when the states are no longer those of a view.
func (c *client) block(w *work, view uint64, now time.Duration) {
	if len(c.blocked) == 0 {
		c.sawAt, c.blockAt = view, now+50*time.Millisecond
	}
	c.blocked = append(c.blocked, w.list())
}

// attempt judges one result. With Conflict, by has the states that another has taken first.
func (m *Machine) attempt(w *work, r wire.Result) (why wire.Why, by []ledger.StateID) {
	if r.Sequence != w.Sequence {
		return wire.Failed, nil
	}
	if r.Why != wire.Done {
		return r.Why, nil
	}
	if r.Attempt.Intent != w.Intent || r.Attempt.Payload != w.payload {
		return wire.Refused, nil
	}
	hash, err := m.set.Book.Hear(r.Whole)
	if err != nil {
		return wire.Refused, nil
	}
	missing := false
	for _, list := range [][]ledger.StateID{r.Attempt.Inputs, r.Attempt.Reads} {
		for _, id := range list {
			switch {
			case m.flight.spends[id] != nil:
				by = append(by, id)
			case !m.there(id):
				missing = true
			}
		}
	}
	if missing || len(by) > 0 {
		return wire.Conflict, by
	}
	if !m.tell(w, attempted) {
		return wire.Failed, nil
	}
	m.seats++
	w.whole, w.assembled, w.seat = r.Whole, hash, m.seats
	m.flight.board(w, m.set.Scheme)
	m.inFlight++
	return wire.Done, nil
}

// back puts the work of a request to assemble back, to be asked for again.
func (m *Machine) back(a *ask) {
	c := m.client(a.to)
	c.asking = nil
	m.endTurn(a.turn)
	for _, w := range a.works {
		if w.state == assembling && w.request == a && m.tell(w, unattempted) {
			c.again = append(c.again, w.list())
		}
	}
}

// unanswered sets a sender aside that does not answer: it delays nobody else.
func (m *Machine) unanswered(a *ask) {
	m.back(a)
	c := m.client(a.to)
	c.knows = 0
	m.setAside(c)
}

func (m *Machine) setAside(c *client) {
	c.aside = m.now + min(m.set.Silence<<min(c.strikes, 16), m.set.LongestAside)
	c.strikes++
}

// awake notes that a member was heard. One that does not answer for grants is there, and yet no use: only a grant ends
// that.
func (m *Machine) awake(a ledger.Account) {
	if c := m.clients[a]; c != nil && !c.mute {
		c.strikes, c.aside = 0, 0
	}
	one := m.memberOf(a)
	if one.heardAt = m.now; !one.forges {
		one.strikes, one.after = 0, 0
	}
}

// returnAll gives work back to its senders (P16). It may get lost: the digest of a heartbeat tells.
func (m *Machine) returnAll(works []*work, why wire.Why, better ledger.Account) {
	items := map[*client][]wire.Step{}
	for _, w := range works {
		if c := w.owner; w.delegation != nil {
			step := wire.Step{Sequence: w.Sequence, Delegation: w.delegation.id}
			if w.state == assembling {
				m.tell(w, unattempted)
			}
			if m.tell(w, closed) {
				items[c] = append(items[c], step)
			}
		}
	}
	for _, c := range m.order {
		for part := range slices.Chunk(items[c], wire.MostItems) {
			m.notice(c.account, wire.Returned{Items: part, Why: why, Better: better})
		}
	}
}
