//go:build unix

package demo

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// strike kills whoever leads the work by the database's row and by its own word. Where
// transactions are sent it is the turn of whoever sends them, after every kill that
// spared it. If nobody is found, leadership is just changing hands: the next tick
// looks again.
func (s *supervisor) strike() error {
	worker, sender := s.leader(), s.sender()
	victim := s.victim(worker, sender)
	if victim == nil {
		return nil
	}
	wall := time.Now()
	at, err := victim.kill()
	if err != nil {
		return err
	}
	kill, text := evidence.Kill{At: at, Node: victim.id}, ""
	if victim == worker {
		kill.Epoch = victim.epoch
		text = fmt.Sprintf(", the leader of epoch %d", victim.epoch)
	}
	if victim == sender {
		text += fmt.Sprintf(", who sends (epoch %d)", s.traffic.row.Epoch)
		s.traffic.struck(wall)
	}
	s.kills = append(s.kills, kill)
	s.spared = s.traffic != nil && victim != sender
	for !s.killAt.After(time.Now()) {
		s.killAt = s.killAt.Add(s.cfg.KillEvery)
	}
	s.view.note("kill -9 %s, pid %d%s", victim.id, victim.process.PID(), text)
	return nil
}

// victim is whose turn it is, of whoever leads the work and whoever sends; each may be
// nil, and both may be the same.
func (s *supervisor) victim(worker, sender *member) *member {
	if s.spared {
		return sender
	}
	return worker
}

// leader is who leads the work, nil if that is not certain.
func (s *supervisor) leader() *member {
	for _, m := range s.crew.nodes {
		if m.process != nil && !m.doomed && m.acted && s.row.Held && s.row.Holder == m.id && s.row.Epoch == m.epoch {
			return m
		}
	}
	return nil
}

// sender is who sends the account's transactions, nil if that is not certain.
func (s *supervisor) sender() *member {
	for _, m := range s.crew.nodes {
		if s.traffic != nil && s.traffic.sends(m) {
			return m
		}
	}
	return nil
}

// lastKill is the last one of a leader of the work.
func (s *supervisor) lastKill() evidence.Kill {
	for _, k := range slices.Backward(s.kills) {
		if k.Epoch != 0 {
			return k
		}
	}
	return evidence.Kill{}
}
