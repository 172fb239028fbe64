package core

import (
	"slices"

	"github.com/conchhq/conch/fence"
)

func (m *Machine) takeOpened(now fence.Instant) {
	m.asking = nothing
	away := now.Sub(m.link.downAt) > m.set.Lease // others may have led unnoticed
	m.link = link{up: true}
	m.usedAt, m.beatAt, m.releaseFailingFrom, m.releaseFailures = now, now, 0, 0
	m.takeRegistered()
	for _, s := range m.seats {
		s.sayAt = now
		if away {
			m.noteLed(s, now)
		}
		s.tryAt = m.pace.rankedTurn(now, s.Rank)
	}
}

// watchHolders updates the set of holders' processes whose end the loop waits for.
func (m *Machine) watchHolders() {
	var want []int64
	for _, s := range m.seats {
		if s.state == waiting && s.process != 0 && s.isCandidate() && !slices.Contains(want, s.process) {
			want = append(want, s.process)
		}
	}
	same := len(want) == len(m.watched)
	for _, p := range want {
		same = same && slices.Contains(m.watched, p)
	}
	if !same {
		m.watched = want
		m.addAction(Watch{Processes: want})
	}
}

// takeWoken passes a hint to the seats that it is about.
func (m *Machine) takeWoken(now fence.Instant, in Woken) {
	seats, all := m.seats, in.Scope == "" && in.Process == 0
	if s := m.seatOf(in.Scope); s != nil {
		seats = []*seat{s}
	}
	for _, s := range seats {
		gone := in.Process != 0 && s.process == in.Process
		if s.state != waiting || !all && !gone && s.Scope != in.Scope {
			continue
		}
		if gone {
			s.endedProcess = in.Process
		}
		m.pace.wakeTurn(&s.turn, now, s.Rank, in)
	}
	if in.Process != 0 {
		m.watchHolders()
	}
}
