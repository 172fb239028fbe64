package election

import (
	"github.com/conchhq/conch/fence"
)

// What the mint said of heartbeats.

func (m *Machine) beaten(now fence.Instant, in Beaten) {
	m.asking = nothing
	for i, answer := range in.Answers {
		s := m.asked[i]
		s.unsure = nil
		if answer == Locked { // its gate shuts when its time is over, the others' do not
			s.unsure = errBeatLocked
			m.overdue(now, s)
			continue
		}
		if s.state != leading { // shut before, or while the heartbeat was under way
			m.drained(s, in.Sent, answer == Renewed)
			continue
		}
		if answer == Over {
			m.report(Fact{Kind: Lost, Scope: s.Scope, Token: s.token, Err: ErrDeposed})
			m.shut(now, s, ErrDeposed, Farewell{Token: s.token, How: EndedByLoss, Reason: "deposed"})
			continue
		}
		s.settled = s.settled || s.settling
		s.deadline = max(s.deadline, in.Sent.Add(s.window()))
		m.do(Extend{Scope: s.Scope, Deadline: s.deadline})
		if s.late && now < s.deadline {
			s.late = false
			m.report(Fact{Kind: Resumed, Scope: s.Scope, Token: s.token})
		}
		m.overdue(now, s)
	}
}

// drained: a heartbeat of a term that is given up was answered. It moves no gate,
// only the time by which whoever is ending must have ended.
func (m *Machine) drained(s *seat, sent fence.Instant, alive bool) {
	if !alive {
		m.deposed(s)
		return
	}
	s.settled = s.settled || s.settling
	if until := sent.Add(s.window()); s.draining && until > s.deadline {
		s.deadline = until
		m.do(Prolong{Scope: s.Scope, Deadline: until})
	}
}

// deposed: a term that was being given up has ended before; nothing can be promised
// about it any more, and whoever asked is told so.
func (m *Machine) deposed(s *seat) {
	s.why, s.draining = ErrDeposed, false
	if s.farewell != nil {
		s.farewell.Released = false
	}
	if s.asked {
		s.asked = false
		m.report(Fact{Kind: Lost, Scope: s.Scope, Token: s.token, Err: ErrDeposed})
	}
}
