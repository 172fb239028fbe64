package core

import (
	"cmp"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// tried takes the answers to a batch of bids, one for each seat of m.asked in the same order. A mint
// that answers fewer has tried only those.
func (m *Machine) tried(now fence.Instant, in Tried) {
	m.asking = nothing
	if n := len(in.Results); n < len(m.asked) {
		m.pace.first = m.asked[n].place // where the next batch begins
	}
	renewed := m.anyToRenew()
	for i, r := range in.Results {
		s := m.asked[i]
		if r.Outcome == mint.Full {
			m.full(s, now, r.Why)
			continue
		}
		process := r.Process
		if process == s.endedProcess {
			process = 0 // it has ended: there is nothing to wait for
		}
		m.blockers(s, &r)
		switch r.Outcome {
		case mint.Won:
			m.open(s, now, in.Sent, r)
			switch {
			case m.stop:
				m.stepDown(now, StepDown{Scope: s.Scope, Why: ErrStepDown, Timeout: max(0, m.stopBy.Sub(now))})
			case s.retired: // while the bid was under way
				m.stepDown(now, StepDown{Scope: s.Scope, Why: errRetired, Timeout: m.set.DrainTimeout})
			}
		case mint.Held, mint.Locked:
			m.lostBid(s, now, r, process)
		case mint.Busy:
			m.busy(s, now, r)
		case mint.Yield:
			m.unled(s, now, errTransferred)
		case mint.Refused:
			m.heard(s, now, r)
			m.report(Fact{Kind: Barred, Scope: s.Scope, Err: r.Why})
		case mint.Full, mint.Said, mint.Over, mint.Renewed: // Full is handled above; the others do not answer bids
		}
		m.pace.answered(&s.turn, now, r.Outcome, process)
	}
	if !renewed && m.anyToRenew() { // a mint counts as a heartbeat
		m.beatAt = in.Sent.Add(m.jitter(m.set.Heartbeat))
	}
	m.watch()
}

// full pauses all bids until the mint may have room. A mint answers Full once in a batch, so this is
// not reported for each scope.
func (m *Machine) full(s *seat, now fence.Instant, why error) {
	until := m.pace.full(now)
	m.report(Fact{Kind: Retrying, Scope: s.Scope, Err: why, After: until.Sub(now)})
	m.unled(s, now, why)
}

// busy reports a scope whose fence is still held by the last acts of a term that is over.
func (m *Machine) busy(s *seat, now fence.Instant, r mint.Result) {
	if s.busySince == 0 {
		m.report(Fact{Kind: Blocked, Scope: s.Scope})
	}
	m.unled(s, now, cmp.Or(r.Why, errActs))
}

// blockers reports the transactions that were ended because they held the fence and, once while a
// scope stays busy, those that could not be ended.
func (m *Machine) blockers(s *seat, r *mint.Result) {
	var ended, stuck []mint.Blocker
	for _, b := range r.Blockers {
		if b.Ended {
			ended = append(ended, b)
		} else {
			stuck = append(stuck, b)
		}
	}
	if len(ended) > 0 {
		m.report(Fact{Kind: Evicted, Scope: s.Scope, Blockers: ended})
	}
	if len(stuck) > 0 && !s.stuck {
		m.report(Fact{Kind: Blocked, Scope: s.Scope, Blockers: stuck})
	}
	s.stuck = r.Outcome == mint.Busy && (s.stuck || len(stuck) > 0)
}

// heard notes whether another process leads, and drops a farewell whose term is not the latest any
// more.
func (m *Machine) heard(s *seat, now fence.Instant, r mint.Result) {
	if r.Process == 0 {
		m.unled(s, now, r.Why)
		return
	}
	m.led(s, now)
	if s.farewell != nil && r.Term != s.farewell.Token.Term { // another term is the latest, and epochs only grow
		m.said(s, now, true)
	}
}

// lostBid notes the holder of a scope, if there is one. process is its process key; 0 if it has ended.
func (m *Machine) lostBid(s *seat, now fence.Instant, r mint.Result, process int64) {
	m.heard(s, now, r)
	known := r.Holder == s.holder && process == s.process
	s.holder = r.Holder
	if !known && r.Holder != "" {
		m.report(Fact{Kind: Following, Scope: s.Scope, Holder: r.Holder})
	}
	stale := m.set.StaleAfter > 0 && r.Age > m.set.StaleAfter
	if stale && !s.stale {
		m.report(Fact{Kind: Stale, Scope: s.Scope, Holder: r.Holder, Took: r.Age})
	}
	s.stale = stale
}
