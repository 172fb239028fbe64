package core

import (
	"cmp"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// takeTried takes the answers to a batch of bids, one for each seat of m.asked in the same order. A mint
// that answers fewer has tried only those.
func (m *Machine) takeTried(now fence.Instant, in Tried) {
	m.asking = nothing
	if n := len(in.Results); n < len(m.asked) {
		m.pace.first = m.asked[n].place // where the next batch begins
	}
	renewed := m.anyToRenew()
	for i, r := range in.Results {
		s := m.asked[i]
		if r.Outcome == mint.Full {
			m.takeFull(s, now, r.Why)
			continue
		}
		process := r.Process
		if process == s.endedProcess {
			process = 0 // it has ended: there is nothing to wait for
		}
		m.reportBlockers(s, &r)
		switch r.Outcome {
		case mint.Won:
			m.openTerm(s, now, in.Sent, r)
			switch {
			case m.stop:
				m.stepDown(now, StepDown{Scope: s.Scope, Why: ErrStepDown, Timeout: max(0, m.stopBy.Sub(now))})
			case s.retired: // while the bid was under way
				m.stepDown(now, StepDown{Scope: s.Scope, Why: errRetired, Timeout: m.set.DrainTimeout})
			}
		case mint.Held, mint.Locked:
			m.noteLostBid(s, now, r, process)
		case mint.Busy:
			m.reportBusy(s, now, r)
		case mint.Yield:
			m.noteUnled(s, now, errTransferred)
		case mint.Refused:
			m.noteLeader(s, now, r)
			m.addReport(Fact{Kind: Barred, Scope: s.Scope, Err: r.Why})
		case mint.Full, mint.Said, mint.Over, mint.Renewed: // Full is handled above; the others do not answer bids
		}
		m.pace.bidAnswered(&s.turn, now, r.Outcome, process)
	}
	if !renewed && m.anyToRenew() { // a mint counts as a heartbeat
		m.beatAt = in.Sent.Add(m.jitter(m.set.Heartbeat))
	}
	m.watchHolders()
}

// takeFull pauses all bids until the mint may have room. A mint answers Full once in a batch, so this is
// not reported for each scope.
func (m *Machine) takeFull(s *seat, now fence.Instant, why error) {
	until := m.pace.mintFull(now)
	m.addReport(Fact{Kind: Retrying, Scope: s.Scope, Err: why, After: until.Sub(now)})
	m.noteUnled(s, now, why)
}

// reportBusy reports a scope whose fence is still held by the last acts of a term that is over.
func (m *Machine) reportBusy(s *seat, now fence.Instant, r mint.Result) {
	if s.busySince == 0 {
		m.addReport(Fact{Kind: Blocked, Scope: s.Scope})
	}
	m.noteUnled(s, now, cmp.Or(r.Why, errActs))
}

// reportBlockers reports the transactions that were ended because they held the fence and, once while a
// scope stays busy, those that could not be ended.
func (m *Machine) reportBlockers(s *seat, r *mint.Result) {
	var ended, stuck []mint.Blocker
	for _, b := range r.Blockers {
		if b.Ended {
			ended = append(ended, b)
		} else {
			stuck = append(stuck, b)
		}
	}
	if len(ended) > 0 {
		m.addReport(Fact{Kind: Evicted, Scope: s.Scope, Blockers: ended})
	}
	if len(stuck) > 0 && !s.stuck {
		m.addReport(Fact{Kind: Blocked, Scope: s.Scope, Blockers: stuck})
	}
	s.stuck = r.Outcome == mint.Busy && (s.stuck || len(stuck) > 0)
}

// noteLeader notes whether another process leads, and drops a farewell whose term is not the latest any
// more.
func (m *Machine) noteLeader(s *seat, now fence.Instant, r mint.Result) {
	if r.Process == 0 {
		m.noteUnled(s, now, r.Why)
		return
	}
	m.noteLed(s, now)
	if s.farewell != nil && r.Term != s.farewell.Token.Term { // another term is the latest, and epochs only grow
		m.endFarewell(s, now, true)
	}
}

// noteLostBid notes the holder of a scope, if there is one. process is its process key; 0 if it has ended.
func (m *Machine) noteLostBid(s *seat, now fence.Instant, r mint.Result, process int64) {
	m.noteLeader(s, now, r)
	known := r.Holder == s.holder && process == s.process
	s.holder = r.Holder
	if !known && r.Holder != "" {
		m.addReport(Fact{Kind: Following, Scope: s.Scope, Holder: r.Holder})
	}
	stale := m.set.StaleAfter > 0 && r.Age > m.set.StaleAfter
	if stale && !s.stale {
		m.addReport(Fact{Kind: Stale, Scope: s.Scope, Holder: r.Holder, Took: r.Age})
	}
	s.stale = stale
}
