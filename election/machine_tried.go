package election

import (
	"cmp"
	"time"

	"github.com/conchhq/conch/fence"
)

// tried takes the answers to a batch of bids, one for each seat of m.asked in the same order. A mint
// that answers fewer has tried only those.
func (m *Machine) tried(now fence.Instant, in Tried) {
	m.asking = nothing
	m.draws = draws{}
	if n := len(in.Results); n < len(m.asked) {
		m.nextBid = m.asked[n].place // where the next batch begins
	}
	renewed := m.anyToRenew()
	for i, r := range in.Results {
		s := m.asked[i]
		if r.Outcome == Full {
			m.full(s, now, r.Why)
			continue
		}
		s.failures, s.bidBatch, m.fulls, m.tryFailures = 0, 0, 0, 0 // bids work, and the mint has room
		m.blockers(s, &r)
		if r.Outcome != Busy {
			s.busySince, s.stuck = 0, false
		}
		switch r.Outcome {
		case Won:
			m.open(s, now, in.Sent, r)
			switch {
			case m.stop:
				m.stepDown(now, StepDown{Scope: s.Scope, Why: ErrStepDown, Timeout: max(0, m.stopBy.Sub(now))})
			case s.retired: // while the bid was under way
				m.stepDown(now, StepDown{Scope: s.Scope, Why: errRetired, Timeout: m.set.DrainTimeout})
			}
		case Held:
			m.lostBid(s, now, r)
		case Busy:
			m.busy(s, now, r)
		case Locked:
			m.lostBid(s, now, r)
		case Yield:
			s.process = 0
			m.rebid(s, now)
			m.unled(s, now, errTransferred)
		case Refused:
			s.process = 0
			m.heard(s, now, r)
			s.try(now.Add(drawn(&m.draws.refused, func() time.Duration { return m.jitter(m.set.RetryMax) })))
			m.report(Fact{Kind: Barred, Scope: s.Scope, Err: r.Why})
		case Full, Said, Over, Renewed: // Full is handled above; the others do not answer bids
		}
	}
	if !renewed && m.anyToRenew() { // a mint counts as a heartbeat
		m.beatAt = in.Sent.Add(m.jitter(m.set.Heartbeat))
	}
	m.watch()
}

// full pauses all bids until the mint may have room. A mint answers Full once in a batch, so this is
// not reported for each scope.
func (m *Machine) full(s *seat, now fence.Instant, why error) {
	m.fulls++
	m.fullUntil = now.Add(m.backoff(m.fulls))
	m.report(Fact{Kind: Retrying, Scope: s.Scope, Err: why, After: m.fullUntil.Sub(now)})
	m.unled(s, now, why)
}

// busy makes a scope due again whose fence is still held by the last acts of a term that is over.
// The next bid for it goes alone and waits in the mint for the lock timeout, which is the pause.
func (m *Machine) busy(s *seat, now fence.Instant, r Result) {
	s.process = 0
	if s.busySince == 0 {
		s.busySince = now
		m.report(Fact{Kind: Blocked, Scope: s.Scope})
	}
	s.try(now)
	m.unled(s, now, cmp.Or(r.Why, errActs))
}

// blockers reports the transactions that were ended because they held the fence and, once while a
// scope stays busy, those that could not be ended.
func (m *Machine) blockers(s *seat, r *Result) {
	var ended, stuck []Blocker
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
		s.stuck = true
		m.report(Fact{Kind: Blocked, Scope: s.Scope, Blockers: stuck})
	}
}

// heard notes whether another process leads, and drops a farewell whose term is not the latest any
// more.
func (m *Machine) heard(s *seat, now fence.Instant, r Result) {
	if r.Process == 0 {
		m.unled(s, now, r.Why)
		return
	}
	m.led(s, now)
	if s.farewell != nil && r.Term != s.farewell.Token.Term { // another term is the latest, and epochs only grow
		m.said(s, now, true)
	}
}

// lostBid takes the answer to a bid that lost: it notes the holder, if there is one, and schedules
// the next bid.
func (m *Machine) lostBid(s *seat, now fence.Instant, r Result) {
	m.heard(s, now, r)
	process := r.Process
	if process == s.endedProcess {
		process = 0 // it has ended: there is nothing to wait for
	}
	known := r.Holder == s.holder && process == s.process
	if s.wokenFrom != 0 && process != 0 && process != s.wokenFrom {
		s.quickTries = min(s.quickTries, 1) // a rival won; at most one more quick try, in case that rival has ended as well
	}
	s.holder, s.process, s.yieldUntil = r.Holder, process, 0
	if !known && r.Holder != "" {
		m.report(Fact{Kind: Following, Scope: s.Scope, Holder: r.Holder})
	}
	stale := m.set.StaleAfter > 0 && r.Age > m.set.StaleAfter
	if stale && !s.stale {
		m.report(Fact{Kind: Stale, Scope: s.Scope, Holder: r.Holder, Took: r.Age})
	}
	s.stale = stale
	m.nextTry(s, now)
}
