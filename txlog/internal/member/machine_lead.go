package member

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// suggest takes the word of gossip. It is a hint: the authority makes the term, or does not.
func (m *Machine) suggest(name string) {
	m.suggested = name
	m.campaigning = 0
	if name == m.cfg.Self {
		m.campaign()
	}
}

// campaign asks for a term, and once more after a growing pause, since the authority may say nothing.
func (m *Machine) campaign() {
	if m.leading || m.doubt.rebuilding || !m.isMember() {
		return
	}
	m.campaigning = min(max(2*m.campaigning, 10*round), 160*round)
	m.campaignAt = m.now + m.campaigning
	m.do(Campaign{})
}

// leads begins a term. Nothing is executed before its opening is applied.
func (m *Machine) leads(term uint64) {
	m.stopLeading()
	m.term, m.leader, m.leading = max(m.term, term), m.cfg.Self, true
	m.reconfirm()
}

// deposed ends a term, this member's or another one's.
func (m *Machine) deposed(f authority.Deposed) {
	m.stopLeading()
	m.term, m.leader, m.campaigning = max(m.term, f.Term), f.Leader, 0
	m.reconfirm()
	if m.leader == m.cfg.Self {
		m.leader = ""
	}
	m.refuseChange(m.elsewhere())
	if m.leader == "" {
		return // a goal waits until somebody is known to lead, which may be this member (B11)
	}
	for _, g := range m.goals.all() {
		m.refuse(g.ticket, m.elsewhere())
	}
}

// unseated ends a term of which another leader's records tell: Deposed comes after them.
func (m *Machine) unseated() {
	m.stopLeading()
	m.leader = ""
	m.refuseChange(m.elsewhere())
}

// stopLeading drops what was executed and is not stored: it is never proposed in another term (drop-speculation). The
// goals wait again: what became of them, the next leader knows.
func (m *Machine) stopLeading() {
	if m.peek.copied != nil {
		m.ahead, m.peek = m.peek, branch{}
	}
	m.leading, m.opening, m.opened = false, false, false
	m.goals.land()
	m.outbox.reset()
	clear(m.doubt.refusers)
}

// open makes the first entry of a term, after everything that is stored.
func (m *Machine) open() {
	if !m.leading || m.opening || m.doubt.rebuilding {
		return
	}
	if err := m.ahead.align(m.base, m.cfg.New, m.tail); err != nil {
		m.quarantine(err)
		return
	}
	m.opening, m.opened = true, false
	m.scrubbing = m.scrubbed
	for _, r := range m.tail {
		if r.Kind == txlog.Scrubbed {
			m.scrubbing = r.Index
		}
	}
	if err := m.propose(txlog.Entry{Kind: txlog.Opening}); err != nil {
		m.quarantine(err)
	}
}

// submit takes a goal.
func (m *Machine) submit(in Execute) {
	err := in.Check()
	if err == nil && in.Since <= m.base.Position().Index && !m.doubt.spoiled {
		known, found, why := m.base.Admit(in.ID, in.Body, in.Since)
		if err = why; found {
			m.answer(in.Ticket, m.said(known))
			return
		}
	}
	switch {
	case err != nil:
		m.refuse(in.Ticket, err)
	case m.leader != "" && m.leader != m.cfg.Self:
		m.refuse(in.Ticket, m.elsewhere())
	case m.goals.count >= m.cfg.MostWaiting:
		m.refuse(in.Ticket, txlog.ErrTooMany)
	default:
		m.goals.add(&goal{Goal: in.Goal, ticket: in.Ticket, came: m.now})
	}
}

// expire gives up goals that have waited for a leader for so long that nobody waits for them any more: their askers have sent them again, or
// have been told that nobody knows. This member would execute them hours later, and has no room for others until then.
func (m *Machine) expire() {
	if m.opened {
		return
	}
	for _, g := range m.goals.old(m.now - goalPatience) {
		m.refuse(g.ticket, m.elsewhere())
	}
}

// said is the answer that a result is. The hash of its entry is in the store, if it is not the newest one.
func (m *Machine) said(of txlog.Result) txlog.Answer {
	a := txlog.Answer{Index: of.Index, Result: of.Result, Fault: of.Fault}
	if at := m.base.Position(); at.Index == of.Index {
		a.Hash = at.Hash
	}
	return a
}

// pump executes what waits, while there is room for what is not committed.
func (m *Machine) pump() {
	for m.opened && len(m.goals.waiting) > 0 && len(m.ahead.line) < m.cfg.mostInFlight && m.ahead.size < m.cfg.mostTail {
		m.execute(m.goals.next())
	}
}

// execute executes a goal, unless its id is that of one that was executed, or is in flight.
func (m *Machine) execute(g *goal) {
	if at := m.ahead.copied.Position().Index; g.Since > at {
		// Its asker knows of more than this leader, which may be deposed and not know it: that is no word on the goal.
		m.goals.count--
		m.refuse(g.ticket, fmt.Errorf("%w: it was made at index %d, and here the log is at %d", txlog.ErrUnknown, g.Since, at))
		return
	}
	known, found, err := m.base.Admit(g.ID, g.Body, min(g.Since, m.base.Position().Index))
	if err == nil && !found {
		// Of one in flight nobody knows yet whether it stays, whatever its body is: its entry answers (dedupe-in-flight).
		var flies bool
		_, flies, err = m.ahead.copied.Admit(g.ID, g.Body, g.Since)
		if flies || errors.Is(err, txlog.ErrGoalID) {
			m.goals.fly(g)
			return
		}
	}
	if err == nil && !found {
		err = m.run(g)
		switch {
		case err == nil:
			m.goals.fly(g)
			return
		case !m.opening: // its memory is wrong: the next leader executes it
			m.goals.again(g)
			return
		}
	}
	m.goals.count--
	if err != nil {
		m.refuse(g.ticket, err)
	} else {
		m.answer(g.ticket, m.said(known))
	}
}

// run makes the entry of a goal. One that fails is an entry too, with nothing but its fault (V3, V4). What this member's memory has
// spoiled is no fault of the goal: it is executed once more, on a branch that is made anew, or by the next leader. If the state
// machine contradicts itself there too, no leader could do it.
func (m *Machine) run(g *goal) error {
	err := m.enter(g, m.ahead.copied.Execute(g.Body))
	if errors.Is(err, txlog.ErrDiff) {
		m.renew()
	}
	if m.opening && (errors.Is(err, txlog.ErrSpoiled) || errors.Is(err, txlog.ErrDiff)) {
		if err = m.enter(g, m.ahead.copied.Execute(g.Body)); errors.Is(err, txlog.ErrSpoiled) {
			m.quarantine(err)
		}
	}
	if err == nil || !m.opening || errors.Is(err, txlog.ErrChain) {
		return err
	}
	return m.enter(g, txlog.Failed(err.Error()))
}

// enter proposes what came of a goal.
func (m *Machine) enter(g *goal, o txlog.Outcome) error {
	return m.propose(txlog.Entry{Kind: txlog.Executed, GoalID: g.ID, Goal: g.Body, Result: o.Result, Fault: o.Fault, Diff: o.Diff, Effects: o.Effects})
}

// renew makes the branch anew, as it is, from base. If that does not fit either, this member's term ends.
func (m *Machine) renew() {
	line := m.ahead.line
	m.ahead = branch{}
	if err := m.ahead.align(m.base, m.cfg.New, line); err != nil {
		m.quarantine(err)
	}
}

// propose makes an entry of the term the next one. After an error nothing has changed, but for one of a wrong memory: the branch is
// made anew then, or the term given up.
func (m *Machine) propose(e txlog.Entry) error {
	if m.opening && e.Kind != txlog.Opening {
		m.scrub()
	}
	if !m.opening {
		return m.elsewhere() // it has given its term up
	}
	e.Term, e.Leader, e.At = m.term, m.cfg.Self, m.at
	r, err := m.ahead.copied.Next(e)
	if errors.Is(err, txlog.ErrSpoiled) {
		m.renew()
	}
	if err != nil {
		return err
	}
	m.ahead.extend(r)
	m.do(Append{Record: r})
	return nil
}

// scrub puts an entry of its own before the next one, if it is time for it: everybody computes the state's hash anew.
func (m *Machine) scrub() {
	every := m.base.Genesis().Scrub
	next := m.ahead.copied.Position().Index + 1
	if next/every <= m.scrubbing/every {
		return
	}
	m.scrubbing = next
	if err := m.propose(txlog.Entry{Kind: txlog.Scrubbed}); err != nil {
		m.quarantine(err)
	}
}
