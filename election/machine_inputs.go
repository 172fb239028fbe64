package election

import (
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
)

func (m *Machine) opened(now fence.Instant) {
	m.asking = nothing
	away := now.Sub(m.link.downAt) > m.set.Lease // others may have led unnoticed
	m.link = link{up: true}
	m.usedAt, m.beatAt, m.releaseFailingFrom, m.releaseFailures = now, now, 0, 0
	m.registeredAll()
	for _, s := range m.seats {
		s.sayAt = now
		if away {
			m.led(s, now)
		}
		s.try(now.Add(time.Duration(s.Rank) * m.set.RankDelay))
		if s.state == waiting && s.farewell == nil && s.yielding {
			m.yield(s, now)
		}
	}
}

// watch updates the set of holders' processes whose end the loop waits for.
func (m *Machine) watch() {
	var want []int64
	for _, s := range m.seats {
		if s.state == waiting && s.process != 0 && s.campaigns() && !slices.Contains(want, s.process) {
			want = append(want, s.process)
		}
	}
	same := len(want) == len(m.watched)
	for _, p := range want {
		same = same && slices.Contains(m.watched, p)
	}
	if !same {
		m.watched = want
		m.do(Watch{Processes: want})
	}
}

// woken brings bids forward. A free scope is tried in quick succession. A scope that was just
// taken is bid for once, a little later, only to learn its holder's process.
func (m *Machine) woken(now fence.Instant, in Woken) {
	all := in.Scope == "" && in.Process == 0
	seats := m.seats
	if s := m.seat(in.Scope); s != nil {
		seats = []*seat{s}
	}
	for _, s := range seats {
		gone := in.Process != 0 && s.process == in.Process
		if s.state != waiting || s.busySince != 0 || !all && !gone && s.Scope != in.Scope {
			continue
		}
		if in.Holder == "" && !all {
			s.quickTries, s.wokenFrom = quickTries, s.process
			if !gone {
				s.quickTries = farewellTries
			}
		}
		if gone {
			s.endedProcess, s.process = in.Process, 0
		}
		at := now.Add(time.Duration(s.Rank) * m.set.RankDelay)
		switch {
		case in.Holder == "":
			at = max(at, s.yieldUntil) // the wake may come from our own farewell
		case !all:
			at = at.Add(lookupDelay) // the scope was just taken
		}
		switch {
		case s.yielding:
		case s.polled:
			s.try(at)
		default:
			s.try(min(s.tryAt, at))
		}
	}
	if in.Process != 0 {
		m.watch()
	}
}
