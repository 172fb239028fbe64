package core

import (
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// takeBeaten takes the answers to a heartbeat, one for each seat of m.asked in the same order. A seat
// may have been shut since the heartbeat was sent.
func (m *Machine) takeBeaten(now fence.Instant, in Beaten) {
	m.asking = nothing
	for i, answer := range in.Answers {
		s := m.asked[i]
		s.unsure = nil
		if answer == mint.Locked { // not renewed: the gate stays open until the deadline that it has
			s.unsure = errBeatLocked
			m.giveUpIfOverdue(now, s)
			continue
		}
		if s.state != leading { // shut before or during the heartbeat, or lost, or ended
			m.beatenShut(s, in.Sent, answer == mint.Renewed)
			continue
		}
		if answer == mint.Over {
			m.addReport(Fact{Kind: Lost, Scope: s.Scope, Token: s.token, Err: ErrDeposed})
			m.shutTerm(now, s, ErrDeposed, mint.Farewell{Token: s.token, How: mint.EndedByLoss, Reason: "deposed"})
			continue
		}
		s.settled = s.settled || s.settling
		s.deadline = in.Sent.Add(s.openFor())
		m.addAction(Extend{Scope: s.Scope, Deadline: s.deadline})
		if s.isLate() && now < s.deadline {
			s.lateFrom = 0
			m.addReport(Fact{Kind: Resumed, Scope: s.Scope, Token: s.token})
		}
		m.giveUpIfOverdue(now, s) // still late: the answer came after the deadline that it brought
	}
}

// beatenShut takes the answer for a term whose gate is shut. While the term drains, its acts get
// more time; a term that was lost or abandoned gets none.
func (m *Machine) beatenShut(s *seat, sent fence.Instant, alive bool) {
	if !alive {
		m.noteDeposed(s)
		return
	}
	s.settled = s.settled || s.settling
	if until := sent.Add(s.openFor()); s.draining && until > s.deadline {
		s.deadline = until
		m.addAction(Prolong{Scope: s.Scope, Deadline: until})
	}
}

// noteDeposed notes that a newer term has replaced one that was being given up. The farewell may
// promise nothing then, and a caller that waits for the drain gets ErrDeposed.
func (m *Machine) noteDeposed(s *seat) {
	s.why, s.draining = ErrDeposed, false
	if s.farewell != nil {
		s.farewell.Released = false
	}
	if s.owesAnswer {
		s.owesAnswer = false
		m.addReport(Fact{Kind: Lost, Scope: s.Scope, Token: s.token, Err: ErrDeposed})
	}
}
