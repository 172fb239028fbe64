package pending

import (
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// sent takes the node's answers to attempts. None is a failure: each decides what to do next.
func (m *machine) sent(now fence.Instant, in sent) {
	m.sending = false
	m.learnRoom(in.Answers)
	lacks, words := false, "" // the node's about the funds
	for _, got := range in.Answers {
		s := m.slots.get(got.Index)
		if s == nil {
			continue
		}
		attempt, delivery := s.find(got.Hash)
		if attempt == nil {
			continue
		}
		delivery.after, s.again = now.Add(m.set.Retry), false
		switch got.Verdict {
		case chain.Accepted, chain.Known:
			s.accepted(delivery)
			if attempt.Filler {
				m.alarm(Alarm{Cause: Unfilled, Index: s.Index}, false)
			}
		case chain.Unknown:
			s.maybeSent(delivery)
			m.retry = now.Add(m.set.Retry)
			s.notTaken(got.Outcome)
		case chain.IndexTooLow:
			delivery.reached, s.doubt = maybe, true
		case chain.Underpriced:
			delivery.reached, s.doubt, s.outbid = maybe, true, true
		case chain.FeeTooLow:
			s.payMore, s.stuck = true, false
		case chain.NoFunds:
			lacks, words = true, got.Said()
			m.pause(now)
		case chain.Unfit: // the node's limits or prices may change, or another node take it
			m.invalid(now, s, attempt, delivery, "unfit: "+got.Said(), m.set.RejectAfter)
			if delivery.reached == gone && !s.refit { // its gas was estimated when the chain asked for less
				s.refit, s.payMore, s.stuck = true, true, false
			}
		case chain.Full, chain.Refused:
			// What is above the first has its turn when the window allows it, but for one that replaces another there.
			if got.Verdict == chain.Refused || got.Index == m.sentFrom || s.taken() {
				m.pause(now)
			}
			delivery.notTaken()
			s.notTaken(got.Outcome)
		case chain.Invalid:
			m.invalid(now, s, attempt, delivery, got.Said(), 0)
		}
	}
	m.sendLacksFunds = m.lacking(m.sendLacksFunds, lacks, now)
	m.alarmFunds(words)
}

// accepted notes that a node has an attempt.
func (s *slot) accepted(at *delivery) {
	s.invalidAt, s.untaken = 0, chain.Outcome{}
	if !s.capped {
		s.waits = ""
	}
	if at.reached != pooled {
		at.reached = taken
	}
}

// invalid takes the answer that the chain never takes the bytes of an attempt. One answer ends nothing: the
// same has to come again some blocks and some time later, and no attempt of the slot may be in a pool (W7).
func (m *machine) invalid(now fence.Instant, s *slot, attempt *Attempt, at *delivery, why string, wait time.Duration) {
	if !attempt.Filler {
		if slices.ContainsFunc(s.deliveries, func(d delivery) bool { return d.reached == left || d.reached == taken || d.reached == pooled }) {
			at.reached, s.doubt = maybe, true
			return
		}
		if s.invalidAt == 0 {
			s.invalidAt, s.invalidFrom = max(m.height(), 1), now
		}
		if m.height() < s.invalidAt+believedAfter || now < s.invalidFrom.Add(wait) {
			s.waits = "invalid: " + why
			at.reached = gone // to be sent again
			m.pause(now)
			return
		}
	}
	at.reached, s.payMore, s.stuck = refused, true, false
	m.refused(now, s, attempt, why)
}

// refused takes the answer that the chain will never include an attempt. A call is replaced by a
// filler, and its intent is rejected in the end. A refused filler says nothing about the intent: it is signed
// anew with the next block, because all later nonces wait for it.
func (m *machine) refused(now fence.Instant, s *slot, attempt *Attempt, why string) {
	if !attempt.Filler {
		s.void, s.why = true, why
		m.alarm(Alarm{Cause: Refused, Index: s.Index, Why: why}, true)
		return
	}
	m.alarm(Alarm{Cause: Unfilled, Index: s.Index, Why: why}, true)
	m.pause(now)
}

// pause stops signing and sending until the next block, or for Patience if none comes.
func (m *machine) pause(now fence.Instant) {
	m.paused, m.resume = m.head.Number+1, now.Add(m.set.Patience)
}

func (m *machine) pausing(now fence.Instant) bool {
	return m.head.Number < m.paused && now < m.resume
}

// holding reports whether nothing is signed until the next block: the last signing was held up.
func (m *machine) holding(now fence.Instant) bool { return m.head.Number < m.signAt && now < m.signBy }

// maybeSent notes that a node may have an attempt.
func (s *slot) maybeSent(at *delivery) {
	if at.reached == kept || at.reached == left || at.reached == gone {
		at.reached = maybe
	}
	s.doubt = true
}

// seen takes the places where attempts were found. An attempt found nowhere is sent again,
// unchanged. That its nonce is used counts only once the transaction that used it is found, or W14 gives it up.
func (m *machine) seen(in seen) {
	m.looking, m.mostRead = false, min(2*m.mostRead, m.set.MaxBatch)
	places := map[uint64]chain.Where{} // the best one of each slot
	for _, one := range in.Sights {
		s := m.slots.get(one.Index)
		if s == nil {
			continue
		}
		attempt, delivery := s.find(one.Hash)
		if attempt == nil {
			continue
		}
		places[one.Index] = max(places[one.Index], one.Where)
		switch one.Where {
		case chain.Included:
			if s.in == nil || s.vacant() || !s.streamed && s.in.Block.Hash != one.Block.Hash {
				m.place(s, &inclusion{Hash: attempt.Hash, Block: one.Block, Failed: one.Failed}, false)
				s.retracted = false
			}
		case chain.Pooled:
			delivery.reached, s.untaken = pooled, chain.Outcome{}
		case chain.Nowhere:
			if delivery.reached != refused {
				delivery.reached = gone
			}
		}
	}
	for _, index := range slices.Sorted(maps.Keys(places)) {
		m.weigh(m.slots.get(index), places[index])
	}
}

// weigh concludes from the best place where an attempt of the slot was found.
func (m *machine) weigh(s *slot, where chain.Where) {
	s.doubt = false
	switch {
	case where == chain.Included:
		s.payMore, s.contradicted = false, false
	case s.in != nil && s.refuted: // neither a second witness nor a lookup finds it there: send it again
		m.retract(s)
	case s.in != nil:
		s.contradicted = !s.streamed && !s.inFinal // one answer is no proof that its block has left the chain
	case where == chain.Nowhere && s.passed > 0 && m.head.Number >= s.passed+m.set.SearchAfter:
		s.spent = true
	case where == chain.Nowhere && s.outbid:
		s.payMore, s.stuck = true, false // another sender's transaction with this nonce is in the pool
	case s.outbid && s.olderPooled():
		s.payMore, s.stuck = true, false // an older attempt is in the pool, and the node wants more to replace it
	}
	s.outbid = false
}
