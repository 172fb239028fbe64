//go:build unix

package consortium

import (
	"context"
	"strings"
	"syscall"
	"time"
)

const (
	partitionFor = 4 * time.Second
	shortPause   = 1500 * time.Millisecond
	longPause    = 5 * time.Second // the lease of the node's own scope ends meanwhile
)

// draw says which fault comes next, and when. After the last one of a plan there is none.
func (s *supervisor) draw(after time.Time) {
	switch {
	case s.cfg.Chaos != nil && s.faults >= len(s.plan), s.cfg.Chaos == nil && s.cfg.KillEvery <= 0:
		s.faultAt = time.Time{}
		return
	case s.cfg.Chaos != nil:
		s.next = s.plan[s.faults]
	default:
		s.next = demoFault(s.faults, s.cfg.KillEvery)
	}
	s.faultAt = after.Add(s.next.After)
}

// harm ends faults whose time is over, and begins the next one when it is due.
func (s *supervisor) harm(ctx context.Context, now time.Time) error {
	if !s.healAt.IsZero() && !now.Before(s.healAt) {
		s.heal()
	}
	if s.asleep != nil && !now.Before(s.wakeAt) {
		s.wake()
	}
	if err := s.undo(ctx, now); err != nil {
		return err
	}
	if s.faultAt.IsZero() || now.Before(s.faultAt) {
		return nil
	}
	victim := s.victim()
	if victim == nil || !s.canStrike(victim) {
		return nil // the next look tries again
	}
	f, due := s.next, s.faultAt
	s.faults++
	for s.draw(due); !s.faultAt.IsZero() && !s.faultAt.After(now); {
		s.faultAt = s.faultAt.Add(s.next.After)
	}
	s.counted[string(f.Kind)]++
	s.struck(now)
	return s.strike(ctx, f, victim, now)
}

// undo ends what chaos has begun and what is over.
func (s *supervisor) undo(ctx context.Context, now time.Time) error {
	if s.saved != nil && !now.Before(s.saved.back) {
		if err := s.putBack(ctx); err != nil {
			return err
		}
	}
	if err := s.lapse(now); err != nil {
		return err
	}
	if !s.rightAt.IsZero() && !now.Before(s.rightAt) {
		if err := s.turnBack(); err != nil {
			return err
		}
	}
	s.letGo(false)
	return nil
}

// canStrike reports whether the next fault's last one of its kind is over.
func (s *supervisor) canStrike(victim *organisation) bool {
	switch s.next.Kind {
	case Partition:
		return s.healAt.IsZero()
	case Restore:
		return s.saved == nil && victim != s.asleep
	case Clock:
		return s.rightAt.IsZero() && s.turned.Process != nil
	case OldHead:
		return s.oldHead == 0
	case Certificate:
		return s.expired == nil && victim != s.asleep
	default:
		return true
	}
}

func (s *supervisor) strike(ctx context.Context, f Fault, victim *organisation, now time.Time) error {
	switch f.Kind {
	case Kill:
		s.kill(victim)
	case Pause:
		s.pause(victim, f.Long, now)
	case Database:
		return s.database(ctx, f)
	case Reorg:
		return s.reorganise(ctx, f)
	case Restore:
		return s.save(ctx, victim, now)
	case Clock:
		return s.turn(ctx, f, now)
	case OldHead:
		return s.hold(ctx)
	case Certificate:
		return s.expire(ctx, victim, now)
	default:
		s.partition(victim, now)
	}
	return nil
}

// victim returns the organisation that coordinates, as the node says that is furthest, or the one after it. It returns nil
// unless that one runs.
func (s *supervisor) victim() *organisation {
	best := seen{}
	for _, c := range s.customers {
		if at := c.seen(); at.Head > best.Head {
			best = at
		}
	}
	for i, o := range s.All {
		if o.Name != best.Coordinator {
			continue
		}
		if s.next.Other {
			o = s.All[(i+1)%len(s.All)]
		}
		if o.Runs() {
			return o
		}
		break
	}
	return nil
}

func (s *supervisor) kill(o *organisation) {
	at := time.Now() // read before the signal
	o.Kill()
	s.kills++
	role := "a member"
	if s.coordinates(o) {
		role, s.killed, s.fallen = "the coordinator", at, o
	}
	s.screen.Note("kill -9 %s, pid %s, %s", o.Name, o.PID(), role)
}

// coordinates reports whether any node says that an organisation coordinates.
func (s *supervisor) coordinates(o *organisation) bool {
	for _, c := range s.customers {
		if at := c.seen(); at.Coordinator == o.Name && time.Since(at.heard) < restartAfter {
			return true
		}
	}
	return false
}

func (s *supervisor) pause(o *organisation, long bool, now time.Time) {
	s.wake()
	o.Process.Signal(syscall.SIGSTOP)
	s.pauses++
	most := shortPause
	if long {
		most = longPause
	}
	o.Stopped, s.asleep, s.wakeAt = true, o, now.Add(most)
	s.screen.Note("SIGSTOP %s, pid %s, for %s", o.Name, o.PID(), most)
}

// wake ends a pause, if there is one.
func (s *supervisor) wake() {
	if s.asleep == nil {
		return
	}
	s.asleep.Process.Signal(syscall.SIGCONT)
	s.asleep.Stopped, s.asleep = false, nil
	s.screen.Note("SIGCONT")
}

// partition cuts the victim and the next organisation off from the other three.
func (s *supervisor) partition(o *organisation, now time.Time) {
	side, names, rest := map[string]bool{}, []string(nil), []string(nil)
	for i, one := range s.All {
		before := s.All[(i+len(s.All)-1)%len(s.All)]
		if side[one.Name] = one == o || before == o; side[one.Name] {
			names = append(names, one.Name)
		} else {
			rest = append(rest, one.Name)
		}
	}
	s.links.Cut(side)
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
	s.links.Heal()
	s.screen.Note("the partition is healed")
}
