package coordinator

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// tenure is this node's time as a coordinator. It begins with work for a later range, or after another had closed it.
type tenure struct {
	active    bool
	number    int // counts them
	rng       ranking.Range
	holds     time.Duration // until then dispatch waits for what was inherited
	waits     map[ledger.Account]bool
	askedAt   time.Duration
	inherited map[ledger.Intent][]*work // dispatched by others, not final
}

// begin begins a tenure: all of the committee are asked once for what they have dispatched and the ledger has not decided (P17,
// P19, D18). This node assembles and endorses on top at once, and dispatches when all have answered and what they named
// is in a block, or when the hold is over. After a failover there is no hold: the one before is gone.
func (m *Machine) begin(r ranking.Range) {
	if m.tenure.active && m.tenure.rng >= r {
		return
	}
	m.tenure.number++
	m.tenure.active, m.tenure.rng, m.tenure.waits = true, max(r, m.tenure.rng), map[ledger.Account]bool{}
	m.tenure.holds = m.now
	if m.firstOf(m.tenure.rng, nil) == m.set.Self {
		m.tenure.holds += m.set.Hold
	}
	for _, one := range m.members {
		if one.account != m.set.Self && m.set.Committee.Has(string(one.account)) { // others dispatch nothing
			m.tenure.waits[one.account] = true
		}
	}
	m.pull()
}

func (m *Machine) pull() {
	m.tenure.askedAt = m.now
	for _, one := range m.members {
		if m.tenure.waits[one.account] {
			a := m.ask(one.account, wire.AskHandover{Range: m.tenure.rng}, nil)
			a.tenure, a.until = m.tenure.number, m.now+m.set.Hold // the answer closes the other's dispatch, however late it comes
		}
	}
}

// holding reports whether dispatch waits.
func (m *Machine) holding() bool {
	if m.now >= m.tenure.holds {
		return false
	}
	if len(m.tenure.waits) > 0 {
		return true
	}
	for _, works := range m.tenure.inherited {
		if slices.ContainsFunc(works, func(w *work) bool { return w.state == dispatched }) {
			return true
		}
	}
	return false
}

// A Handover has so many entries at most, and so many signatures, which take its receiver a second of one processor: half of
// a hold. What it does not name, the ledger decides.
const (
	mostInherited = 2000
	mostProofs    = 8000
)

func (m *Machine) mostHanded() int { return min(mostInherited, mostProofs/(1+m.set.Contract.Needed)) }

// handover answers a node that coordinates now. What it is told is complete, since nothing is dispatched afterwards:
// an answer closes dispatch here, unless this node comes before the asker, its work cannot reach the asker, or the asker has
// asked for that range long ago.
func (m *Machine) handover(from ledger.Account, body wire.AskHandover) wire.Body {
	if !m.set.Committee.Has(string(from)) {
		return wire.Rejected{Why: wire.NotMember, Text: "it is not in the committee"}
	}
	if !ranking.Delegation.Takes(m.own(), body.Range) {
		return farFrom(m.own(), body.Range)
	}
	if m.precedes(body.Range, from, m.set.Self) && m.closes(from, body.Range) {
		m.close(from)
		m.tenure.active = m.tenure.active && len(m.undispatched(func(*work) bool { return true })) > 0
	}
	var list []*work
	for _, w := range m.works {
		if w.state == storing || w.state == dispatched {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b *work) int { return cmp.Compare(a.seat, b.seat) })
	var h wire.Handover
	room := m.room(h)
	for _, w := range list[:min(len(list), m.mostHanded())] {
		e := m.dispatch(w)
		if room -= e.Size(); room < 0 {
			break
		}
		h.Entries = append(h.Entries, e)
	}
	return h
}

// Claims returns what of an answer to a handover can still count, so that nothing else has to be proven: cheap checks come
// before signatures. What is left has an honest form, and is neither known here nor over.
func (m *Machine) Claims(from ledger.Account, answer wire.RequestID, h wire.Handover) (open []wire.Dispatch) {
	a := m.asks[answer.Number]
	if a == nil || answer.Incarnation != m.set.Incarnation || a.to != from || a.kind != wire.KindAskHandover || !m.waitsFor(a) {
		return nil
	}
	a.until = m.now + m.set.Hold // its answer has come, and many proofs take longer than a silence
	for _, e := range h.Entries[:min(len(h.Entries), m.mostHanded())] {
		if m.open(from, e) {
			open = append(open, e)
		} else if m.set.Book.Decided(e.Grant.Assembled, e.Attempt) { // it may have landed without its contents
			_, _ = m.set.Book.Hear(e.Whole)
		}
	}
	return open
}

func (m *Machine) waitsFor(a *ask) bool { return a.tenure == m.tenure.number && m.tenure.waits[a.to] }

// open reports whether an entry of a handover can still count, as far as that is cheap to see.
func (m *Machine) open(from ledger.Account, e wire.Dispatch) bool {
	at, hash, own := e.Attempt, e.Grant.Assembled, m.works[e.Attempt.Intent]
	switch {
	case e.Grant.Coordinator != from || len(e.Endorsements) != m.set.Contract.Needed:
		return false // no honest member says so
	case m.inheritedOf(at.Intent, hash) != nil || own != nil && (own.state >= dispatched || own.assembled == hash):
		return false // it is known
	}
	return m.memberOf(at.Owner) != nil && e.Grant.ValidUntil > m.final() && !m.set.Book.Decided(hash, at)
}

// inherit takes what a member has dispatched, which was proven: a member's word alone locks nothing and offers nothing. The
// states are locked until the ledger decides, or for as long as [Machine.lasts] says.
func (m *Machine) inherit(a *ask, h wire.Handover) {
	if !m.waitsFor(a) {
		return // an answer to an earlier question closes nothing now
	}
	delete(m.tenure.waits, a.to)
	for _, e := range h.Entries {
		if !m.open(a.to, e) {
			continue
		}
		hash, err := m.set.Book.Hear(e.Whole)
		if err != nil || hash != e.Grant.Assembled {
			continue
		}
		if own := m.works[e.Attempt.Intent]; own != nil && own.state == storing { // it has left nothing, and comes second
			m.tell(own, overtaken)
		}
		for _, id := range e.Attempt.Inputs { // what was assembled here on the same states loses: it comes second
			if by := m.flight.spends[id]; by != nil && by.state < storing {
				m.tell(by, overtaken)
			}
		}
		w := m.importOf(e.Whole, hash)
		w.grant = e.Grant
		m.lasts(w)
	}
	m.sweep()
	m.changedReady = true
}

// question is the newest range for which a member has asked for a handover, and when it did so first.
type question struct {
	rng ranking.Range
	at  time.Duration
}

// closes reports whether a member's question for a handover ends dispatch here. The first one for a range does, and so does each
// one soon after it, since the first answer may be lost. A later one does not: a member that asked without end would have all work
// given back here for ever.
func (m *Machine) closes(from ledger.Account, r ranking.Range) bool {
	last, is := m.asked[from]
	if !is || r > last.rng {
		last = question{r, m.now}
		m.asked[from] = last
	}
	return r == last.rng && m.now <= last.at+m.set.Hold+m.set.Silence
}

// inheritedOf returns an attempt that was inherited, nil if it was not.
func (m *Machine) inheritedOf(in ledger.Intent, assembled ledger.Hash) *work {
	for _, w := range m.tenure.inherited[in] {
		if w.assembled == assembled {
			return w
		}
	}
	return nil
}

// close gives back what is not dispatched and another node coordinates now (P15, P16): all but the work whose senders
// cannot reach it, which is kept for a while.
func (m *Machine) close(better ledger.Account) {
	m.returnAll(m.undispatched(func(w *work) bool {
		d := w.delegation
		return m.now >= d.until || !slices.Contains(d.avoid, better)
	}), wire.Moved, better)
}

// turned gives back, when a range begins for this node, the work of older ones for which another is named now (P14,
// P24). With what stays it coordinates for the new one: members refuse to endorse for one that is long over.
func (m *Machine) turned() {
	own := m.own()
	if own == m.turnedAt {
		return
	}
	m.turnedAt = own
	m.returnAll(m.undispatched(func(w *work) bool {
		return w.delegation.rng < own && m.firstOf(own, w.delegation.avoid) != m.set.Self
	}), wire.Moved, "")
	if len(m.undispatched(func(*work) bool { return true })) > 0 {
		m.begin(own)
	}
}

// drain gives everything back that is not dispatched, and says that others may have it. What is dispatched stays until the
// ledger decides.
func (m *Machine) drain(on bool) {
	if m.drained = on; on {
		m.returnAll(m.undispatched(func(*work) bool { return true }), wire.Moved, "")
	}
}

func (m *Machine) undispatched(which func(*work) bool) (found []*work) {
	for _, c := range m.order {
		for _, w := range c.works {
			if w.state < storing && which(w) {
				found = append(found, w)
			}
		}
	}
	slices.SortFunc(found, func(a, b *work) int { return cmp.Compare(a.order, b.order) })
	return found
}
