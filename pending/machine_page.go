package pending

import "github.com/conchhq/conch/fence"

// leave takes the oldest slots out of a long line, and those that had come back and are done. It takes half of the
// line at once, since each time costs a visit to all. If none could leave, it tries again at the next head.
func (m *machine) leave(now fence.Instant) {
	excess := 0
	if n := len(m.slots.all()); n > m.set.Held.Most && m.stayAt != m.head.Hash {
		excess = n - m.set.Held.Most/2
	}
	if excess == 0 && m.census.guests == 0 {
		return
	}
	var gone []*run
	needed := m.needed()
	m.slots.sweep(func(s *slot) bool {
		if excess <= 0 && !s.guest || needed[s.Index] || m.deep.asking(s.Index) || !m.settled(s, now) {
			return false
		}
		excess--
		if s.guest {
			m.census.guests--
		}
		one := &run{Run: Run{First: s.Index, Last: s.Index, Block: s.in.Block, Late: s.saved.Status == FinalityTimeout}, streamed: s.streamed, inSince: s.inSince}
		if n := len(gone); n == 0 || !gone[n-1].takes(one) {
			gone = append(gone, one)
		}
		return true
	})
	m.deep.add(gone)
	if excess > 0 && len(gone) == 0 {
		m.stayAt = m.head.Hash
	}
}

// needed returns the nonces whose slots an alarm is about, or a replace that is under way.
func (m *machine) needed() map[uint64]bool {
	needed := map[uint64]bool{}
	for a, raised := range m.alarms {
		if raised && !a.Whole {
			needed[a.Index] = true
		}
	}
	if m.signing {
		for _, one := range m.replacing {
			needed[one.Index] = true
		}
	}
	return needed
}

// settled reports whether nothing is to be done for a slot in a block before the chain changes, and all is stored
// from which it can be restored.
func (m *machine) settled(s *slot, now fence.Instant) bool {
	return s.in != nil && s.in.Block.Number+m.set.Held.Depth <= m.head.Number &&
		(m.final.Hash == "" || s.in.Block.Number > m.final.Number) && s.first.Hash == "" && !s.inFinal &&
		!s.doubt && !s.contradicted && !s.refuted && !s.spent && s.waits == "" &&
		s.saving == nil && s.saved.Block.Hash == s.in.Block.Hash && s.saved == s.change(m.timedOut(s, now))
}

// call is why the slots of a run have to come back.
type call uint8

const (
	uncalled  call = iota
	late           // to be stored as FinalityTimeout
	ended          // to be linked and confirmed
	elsewhere      // to be looked up, since the chain counts their nonces as used
	resend         // to be sent again
	further        // to be sent again, once those before have been
)

func (m *machine) called(r *run, now fence.Instant) call {
	switch {
	case r.away() && r.Last < m.best:
		return elsewhere
	case r.away() && r.First < m.best+uint64(m.set.MaxInFlight):
		return resend
	case r.away():
		return further
	case m.final.Hash != "" && r.Block.Number <= m.final.Number:
		return ended
	case !r.Late && m.overdue(r.inSince, now):
		return late
	}
	return uncalled
}

// page asks for the slots of the runs that have to come back: first for those to be sent again, whose number only
// MaxInFlight limits, since all later ones wait for them.
func (m *machine) page(now fence.Instant) {
	if m.paging || !m.deep.stirred {
		return
	}
	room := m.set.Held.Guests - m.census.guests
	if room < m.set.Held.Page && m.deep.away == 0 {
		return
	}
	at, why := 0, uncalled
	for i, r := range m.deep.order {
		if c := m.called(r, now); c > why && c != further {
			at, why = i, c
		}
		if why == resend {
			break
		}
	}
	if why == elsewhere {
		room += m.set.Held.Guests // others that wait for a witness do not stop them
	}
	if why != resend && room < m.set.Held.Page {
		return
	}
	if why == uncalled {
		m.deep.stirred = m.deep.away > 0
		return
	}
	do := page{From: m.deep.order[at].First}
	limit := do.From + uint64(m.set.Held.Page) - 1
	for _, r := range m.deep.order[at:] {
		if r.First > limit || m.called(r, now) != why {
			break
		}
		do.To = min(r.Last, limit)
	}
	m.paging, m.deep.asked = true, &do
	m.do(do)
}

// paged takes slots back into the line. What has happened to their block since they were asked for, the run says.
func (m *machine) paged(now fence.Instant, in paged) {
	m.paging = false
	if m.deep.asked == nil {
		return // the rows were loaded anew meanwhile
	}
	m.deep.asked = nil
	var back []*slot
	for _, stored := range in.Slots {
		if r := m.deep.get(stored.Index); r != nil {
			back = append(back, m.comeBack(stored, r, now))
		}
	}
	m.deep.cut(in.From, in.To)
	m.slots.merge(back)
}

// comeBack returns a slot of a run.
func (m *machine) comeBack(stored Slot, r *run, now fence.Instant) *slot {
	s := restored(stored, 0)
	switch {
	case r.reverted:
		m.retract(s)
		s.doubt = s.Index < m.best
	case stored.Final || stored.Last.Block.Hash != r.Block.Hash: // somebody else has written it
		s.doubt = true
	case r.unused:
		s = restored(stored, m.best)
		s.inSince = m.storedIn(s, now)
	default:
		s.found(&inclusion{Hash: stored.Last.Hash, Block: stored.Last.Block, Failed: stored.Last.Failed}, r.streamed)
		s.inSince = r.inSince
		if s.streamed && m.final.Hash != "" && s.in.Block.Number <= m.final.Number {
			s.first, s.firstBy = m.final, m.finalBy
		}
	}
	s.guest = true
	return s
}
