//go:build unix

package consortium

import (
	"fmt"
	"strings"
	"syscall"
	"time"
)

// The faults come in this order, again and again.
const (
	kill = iota
	partition
	pause
	kinds
)

const (
	partitionFor = 4 * time.Second
	shortPause   = 1500 * time.Millisecond
	longPause    = 5 * time.Second // the lease of the node's own scope ends meanwhile
)

// harm ends faults whose time is over, and begins the next one when it is due.
func (s *supervisor) harm(now time.Time) error {
	if !s.healAt.IsZero() && !now.Before(s.healAt) {
		s.heal()
	}
	if s.asleep != nil && !now.Before(s.wakeAt) {
		s.wake()
	}
	if s.faultAt.IsZero() || now.Before(s.faultAt) {
		return nil
	}
	victim := s.victim()
	if victim == nil {
		return nil // the next look tries again
	}
	for !s.faultAt.After(now) {
		s.faultAt = s.faultAt.Add(s.cfg.KillEvery)
	}
	s.faults++
	switch (s.faults - 1) % kinds {
	case kill:
		return s.kill(victim)
	case pause:
		return s.pause(victim, now)
	default:
		s.partition(victim, now)
		return nil
	}
}

// victim returns the organisation that coordinates, as the node says that is furthest; every other time of a kind the
// one after it. It returns nil unless that one runs.
func (s *supervisor) victim() *organisation {
	best := seen{}
	for _, c := range s.customers {
		if at := c.seen(); at.Head > best.Head {
			best = at
		}
	}
	for i, o := range s.all {
		if o.name != best.Coordinator {
			continue
		}
		o = s.all[(i+s.faults/kinds%2)%len(s.all)]
		if o.process == nil || o.process.killed || o.process.stopped {
			return nil
		}
		return o
	}
	return nil
}

func (s *supervisor) kill(o *organisation) error {
	at := time.Now() // read before the signal
	if err := o.process.signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill -9 %s: %w", o.name, err)
	}
	o.process.killed = true
	s.kills++
	role := "a member"
	if s.coordinates(o) {
		role, s.killed, s.fallen = "the coordinator", at, o
	}
	s.screen.Note("kill -9 %s, pid %d, %s", o.name, o.process.pid, role)
	return nil
}

// coordinates reports whether any node says that an organisation coordinates.
func (s *supervisor) coordinates(o *organisation) bool {
	for _, c := range s.customers {
		if at := c.seen(); at.Coordinator == o.name && time.Since(at.heard) < restartAfter {
			return true
		}
	}
	return false
}

func (s *supervisor) pause(o *organisation, now time.Time) error {
	s.wake()
	if err := o.process.signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("SIGSTOP %s: %w", o.name, err)
	}
	s.pauses++
	most := shortPause
	if s.pauses%2 == 0 {
		most = longPause
	}
	o.process.stopped, s.asleep, s.wakeAt = true, o.process, now.Add(most)
	s.screen.Note("SIGSTOP %s, pid %d, for %s", o.name, o.process.pid, most)
	return nil
}

// wake ends a pause, if there is one.
func (s *supervisor) wake() {
	if s.asleep == nil {
		return
	}
	_ = s.asleep.signal(syscall.SIGCONT) // or it has ended
	s.asleep.stopped, s.asleep = false, nil
	s.screen.Note("SIGCONT")
}

// partition cuts the victim and the next organisation off from the other three.
func (s *supervisor) partition(o *organisation, now time.Time) {
	side, names, rest := map[string]bool{}, []string(nil), []string(nil)
	for i, one := range s.all {
		before := s.all[(i+len(s.all)-1)%len(s.all)]
		if side[one.name] = one == o || before == o; side[one.name] {
			names = append(names, one.name)
		} else {
			rest = append(rest, one.name)
		}
	}
	s.links.cut(side)
	s.partitions++
	s.healAt = now.Add(partitionFor)
	s.screen.Note("partition: %s | %s, for %s", strings.Join(names, " "), strings.Join(rest, " "), partitionFor)
}

// heal ends a partition, if there is one.
func (s *supervisor) heal() {
	if s.healAt.IsZero() {
		return
	}
	s.healAt = time.Time{}
	s.links.heal()
	s.screen.Note("the partition is healed")
}
