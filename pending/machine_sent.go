package pending

import (
	"maps"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// sent takes the node's answers to attempts that were handed over. None of them is a
// failure: each says which question to ask next.
func (m *machine) sent(now fence.Instant, in sent) {
	m.sending = false
	funds, broke := true, ""
	for _, got := range in.Answers {
		s := m.slots.get(got.Index)
		if s == nil {
			continue
		}
		a, t := s.find(got.Hash)
		if t == nil {
			continue
		}
		t.after = now.Add(m.set.Retry)
		switch got.Verdict {
		case chain.Accepted, chain.Known:
			if t.reached = taken; a.Filler {
				m.alarm(Alarm{Cause: Unfilled, Index: s.Index}, false)
			}
		case chain.Unknown:
			m.unsure(got.Index, got.Hash)
			m.retry = now.Add(m.set.Retry)
		case chain.IndexTooLow:
			t.reached, s.doubt = maybe, true
		case chain.Underpriced:
			t.reached, s.doubt, s.outbid = maybe, true, true
		case chain.FeeTooLow:
			s.raise = true
		case chain.NoFunds:
			funds, broke = false, got.Text
			m.pause(now)
		case chain.Full, chain.Refused:
			m.pause(now)
		case chain.Invalid:
			t.reached, s.raise = refused, true
			m.refused(now, s, a, got.Text)
		}
	}
	m.unpaid = !funds
	m.funds(broke)
}

// refused: the chain will never take these bytes. For a call a filler is signed, which
// gives its slot up and rejects its intent. A filler is signed anew, with the next block:
// that says nothing of an intent, and whatever comes after the slot waits for it.
func (m *machine) refused(now fence.Instant, s *slot, a *Attempt, why string) {
	if !a.Filler {
		s.void, s.why = true, why
		m.alarm(Alarm{Cause: Refused, Index: s.Index, Why: why}, true)
		return
	}
	m.alarm(Alarm{Cause: Unfilled, Index: s.Index, Why: why}, true)
	m.pause(now)
}

// pause: nothing is signed or sent before the next block, or for a while if none comes.
func (m *machine) pause(now fence.Instant) {
	m.paused, m.resume = m.head.Number+1, now.Add(m.set.Patience)
}

// pausing tells whether that lasts.
func (m *machine) pausing(now fence.Instant) bool {
	return m.head.Number < m.paused && now < m.resume
}

// unsure: the bytes may have arrived.
func (m *machine) unsure(index uint64, hash chain.Hash) {
	if s := m.slots.get(index); s != nil {
		if _, t := s.find(hash); t != nil && (t.reached == kept || t.reached == gone) {
			t.reached = maybe
		}
		s.doubt = true
	}
}

// sighted takes in where attempts were found. What was nowhere is sent again, the
// same bytes; that another took its slot is only believed when the other is seen.
func (m *machine) sighted(in seen) {
	m.looking = false
	m.final = max(m.final, in.Height)
	m.covered(in.Final)
	best := map[uint64]chain.Where{}
	for _, one := range in.Sights {
		s := m.slots.get(one.Index)
		if s == nil {
			continue
		}
		a, t := s.find(one.Hash)
		if t == nil {
			continue
		}
		best[one.Index] = max(best[one.Index], one.Where)
		switch one.Where {
		case chain.Included:
			if s.in == nil || !s.streamed {
				s.in = &inclusion{Hash: a.Hash, Block: one.Block, Failed: one.Failed}
				s.retracted = false
			}
			// Not by the height alone: a node that has gone back may name a block that it had.
			s.settled = s.settled || one.Block.Number <= in.Height && s.Index < in.Final
		case chain.Pooled:
			t.reached = pooled
		case chain.Nowhere:
			if t.reached != refused {
				t.reached = gone
			}
		}
	}
	for _, index := range slices.Sorted(maps.Keys(best)) {
		m.weigh(m.slots.get(index), best[index], in.Final)
	}
}

// weigh draws the conclusion for a slot from all of its attempts.
func (m *machine) weigh(s *slot, where chain.Where, final uint64) {
	s.doubt = false
	switch {
	case where == chain.Included:
		s.raise = false
	case s.in != nil && !s.own() && s.settled: // that ours are nowhere is no news
	case s.in != nil && !s.own():
		s.spent = s.Index < final
	case s.in != nil && !s.streamed:
		m.retract(s)
	case where == chain.Nowhere && s.Index < final:
		s.spent = true
	case where == chain.Nowhere && s.outbid:
		s.raise = true // somebody else's transaction waits for our slot
	case s.outbid && s.outraised():
		s.raise = true // an older attempt of ours waits, and the node wants more to replace it
	}
	s.outbid = false
}

// found: another transaction used the slot up, or none did after all.
func (m *machine) found(now fence.Instant, in found) {
	m.searching = false
	s := m.slots.get(in.Index)
	if s == nil || !s.spent {
		return
	}
	s.spent = false
	if in.In != nil {
		s.in, s.streamed, s.doubt = in.In, false, false
		s.settled = in.In.Block.Number <= m.final
		return
	}
	if s.in != nil {
		m.retract(s)
	}
	s.Since -= min(s.Since, reach) // a chain that was rewound may have taken it lower down
	s.doubt = true
	m.retry = now.Add(m.set.Retry)
}
