//go:build unix

package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/fence"
)

// strike kills the leader of the work, and after each kill that spared the sender of
// transactions, the sender. If that node is not certain, leadership is changing hands and the
// next tick tries again.
func (s *supervisor) strike() {
	worker, sender := s.leader(), s.sender()
	victim := s.victim(worker, sender)
	if victim == nil {
		return
	}
	wall := time.Now()
	at := fence.Boottime() // read before the signal is sent
	victim.Kill()
	kill, led := evidence.Kill{At: at, Node: victim.Name}, []string(nil)
	if victim == worker {
		kill.Epoch = victim.Epoch
		led = append(led, fmt.Sprintf("%q (epoch %d)", Scope, victim.Epoch))
	}
	if victim == sender {
		led = append(led, fmt.Sprintf("%q (epoch %d)", PayerScope, s.traffic.row.Epoch))
		s.traffic.struck(wall)
	}
	s.kills = append(s.kills, kill)
	s.spared = s.traffic != nil && victim != sender
	for !s.killAt.After(time.Now()) {
		s.killAt = s.killAt.Add(s.cfg.KillEvery)
	}
	s.screen.Note("kill -9 %s, pid %d, which led %s", victim.Name, victim.Process.PID(), strings.Join(led, " and "))
}

// victim returns the member to kill. Leader and sender may each be nil, and may be the same.
func (s *supervisor) victim(worker, sender *member) *member {
	if s.spared {
		return sender
	}
	return worker
}

// leader returns the member that leads the work by the database and by its own report, or nil.
func (s *supervisor) leader() *member {
	for _, m := range s.cast.All {
		if m.Runs() && m.Acted != 0 && s.row.Held && s.row.Holder == m.Name && s.row.Epoch == m.Epoch {
			return m
		}
	}
	return nil
}

// sender returns the member that sends the account's transactions, or nil.
func (s *supervisor) sender() *member {
	for _, m := range s.cast.All {
		if s.traffic != nil && s.traffic.sends(m) {
			return m
		}
	}
	return nil
}

func (s *supervisor) lastKill() evidence.Kill {
	for _, k := range slices.Backward(s.kills) {
		if k.Epoch != 0 {
			return k
		}
	}
	return evidence.Kill{}
}
