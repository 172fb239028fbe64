package pending

import (
	"maps"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// sent takes the node's answers to attempts. None is a failure: each decides what to do next.
func (m *machine) sent(now fence.Instant, in sent) {
	m.sending = false
	m.sendLacksFunds = false
	lacking := "" // the node's words about the funds
	for _, got := range in.Answers {
		s := m.slots.get(got.Index)
		if s == nil {
			continue
		}
		attempt, delivery := s.find(got.Hash)
		if attempt == nil {
			continue
		}
		delivery.after = now.Add(m.set.Retry)
		switch got.Verdict {
		case chain.Accepted, chain.Known:
			if delivery.reached = taken; attempt.Filler {
				m.alarm(Alarm{Cause: Unfilled, Index: s.Index}, false)
			}
		case chain.Unknown:
			m.maybeSent(got.Index, got.Hash)
			m.retry = now.Add(m.set.Retry)
		case chain.IndexTooLow:
			delivery.reached, s.doubt = maybe, true
		case chain.Underpriced:
			delivery.reached, s.doubt, s.outbid = maybe, true, true
		case chain.FeeTooLow:
			s.payMore = true
		case chain.NoFunds:
			m.sendLacksFunds, lacking = true, got.Text
			m.pause(now)
		case chain.Full, chain.Refused, chain.Unfit:
			m.pause(now)
		case chain.Invalid:
			delivery.reached, s.payMore = refused, true
			m.refused(now, s, attempt, got.Text)
		}
	}
	m.alarmFunds(lacking)
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

// maybeSent notes that a node may have an attempt.
func (m *machine) maybeSent(index uint64, hash chain.Hash) {
	if s := m.slots.get(index); s != nil {
		if _, delivery := s.find(hash); delivery != nil && (delivery.reached == kept || delivery.reached == gone) {
			delivery.reached = maybe
		}
		s.doubt = true
	}
}

// seen takes the places where attempts were found. An attempt found nowhere is sent again,
// unchanged. That another transaction used its nonce counts only once that one is found.
func (m *machine) seen(in seen) {
	m.looking = false
	m.finalHeight = max(m.finalHeight, in.Height)
	m.checkStrange(in.Final)
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
			if s.in == nil || !s.streamed {
				s.in = &inclusion{Hash: attempt.Hash, Block: one.Block, Failed: one.Failed}
				s.retracted = false
			}
			// The height alone does not prove it: a node that has gone back may name an old block.
			s.inFinal = s.inFinal || one.Block.Number <= in.Height && s.Index < in.Final
		case chain.Pooled:
			delivery.reached = pooled
		case chain.Nowhere:
			if delivery.reached != refused {
				delivery.reached = gone
			}
		}
	}
	for _, index := range slices.Sorted(maps.Keys(places)) {
		m.weigh(m.slots.get(index), places[index], in.Final)
	}
}

// weigh concludes from the best place where an attempt of the slot was found, and from the account's
// next nonce at the last final block.
func (m *machine) weigh(s *slot, where chain.Where, final uint64) {
	s.doubt = false
	switch {
	case where == chain.Included:
		s.payMore = false
	case s.in != nil && !s.own() && s.inFinal: // another transaction is final, so ours must be nowhere
	case s.in != nil && !s.own():
		s.spent = s.Index < final
	case s.in != nil && !s.streamed: // an earlier lookup found it in a block
		m.retract(s)
	case where == chain.Nowhere && s.Index < final:
		s.spent = true
	case where == chain.Nowhere && s.outbid:
		s.payMore = true // another sender's transaction with this nonce is in the pool
	case s.outbid && s.olderPooled():
		s.payMore = true // an older attempt is in the pool, and the node wants more to replace it
	}
	s.outbid = false
}

// found takes the transaction that used the nonce of a slot, or that there is none after all.
func (m *machine) found(now fence.Instant, in found) {
	m.searching = false
	s := m.slots.get(in.Index)
	if s == nil || !s.spent {
		return
	}
	s.spent = false
	if in.In != nil {
		s.in, s.streamed, s.doubt = in.In, false, false
		s.inFinal = in.In.Block.Number <= m.finalHeight
		return
	}
	if s.in != nil {
		m.retract(s)
	}
	s.Since -= min(s.Since, reach) // after a rewind it may have been included lower down
	s.doubt = true
	m.retry = now.Add(m.set.Retry)
}
