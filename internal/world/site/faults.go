package site

import "time"

// Go lets there be faults for a time, then none for another.
func (s *Site) Go(faults, quiet time.Duration, ends func()) {
	s.W.Again(time.Second, s.fault)
	s.W.After(faults, ends)
	s.Until(faults+quiet, nil)
}

// fault has something go wrong, and says when the next thing does. Half of them are about the leader.
func (s *Site) fault() time.Duration {
	if s.Calm {
		return 0
	}
	n := s.All[s.W.Pick(len(s.All))]
	if s.First != nil && s.W.Chance(0.5) {
		n = s.First
	}
	wait := s.W.Between(0, 2*time.Minute)
	all := append([]func(){
		func() { s.kill(n, wait) },
		func() { s.freeze(n, s.W.Between(0, 20*time.Second)) },
		func() { s.freeze(n, s.W.Between(0, 100*time.Millisecond)) },
		func() { s.blackout(wait) },
		func() { n.Wrong = s.step() },
		s.stepClock,
		func() { s.cutOff(n, s.W.Between(0, 20*time.Second)) },
	}, s.wing.Faults...)
	all[s.W.Pick(len(all))]()
	return s.W.Between(0, 5*time.Minute)
}

// step draws by how much a clock is wrong.
func (s *Site) step() time.Duration {
	d := []time.Duration{30 * time.Second, 10 * time.Minute, time.Hour}[s.W.Pick(3)]
	if s.W.Chance(0.5) {
		return -d
	}
	return d
}

// Later does something after a time, unless nothing is wrong any more by then.
func (s *Site) Later(d time.Duration, do func()) {
	s.W.After(d, func() {
		if !s.Calm {
			do()
		}
	})
}

func (s *Site) kill(n *Node, wait time.Duration) {
	if n.up {
		n.Kill()
		s.Later(wait, func() { n.start(true) })
	}
}

func (s *Site) freeze(n *Node, d time.Duration) {
	if !n.up || n.stands {
		return
	}
	_ = n.Freeze()
	life := n.Life
	s.Later(d, func() {
		if n.Life == life && n.stands {
			n.Thaw()
		}
	})
}

// blackout has all processes die, or the database be away.
func (s *Site) blackout(wait time.Duration) {
	if s.W.Chance(0.2) {
		wait = s.W.Between(0, 40*time.Minute)
	}
	if s.W.Chance(0.5) {
		for _, n := range s.All {
			s.kill(n, wait)
		}
	} else if !s.Away {
		s.outage(true)
		s.Later(wait, func() { s.outage(false) })
	}
}

func (s *Site) outage(is bool) {
	s.tells("world", "the database is %s", map[bool]string{true: "away", false: "there again"}[is])
	s.Away = is
}

func (s *Site) stepClock() {
	if !s.wing.Steady && s.wrong == 0 {
		s.set(s.step())
		s.Later(s.W.Between(0, 20*time.Minute), func() { s.set(0) })
	}
}

// set has the database's clock be wrong, or right.
func (s *Site) set(wrong time.Duration) {
	s.wrong = wrong
	s.tells("world", "the database's clock reads %s", s.Clock().Format(time.TimeOnly))
	s.wing.Stepped()
}

// cutOff cuts a process off from the database, which ends its sessions.
func (s *Site) cutOff(n *Node, d time.Duration) {
	if !s.cut[n.Name] {
		s.setCut(n.Name, true)
		s.Later(d, func() { s.setCut(n.Name, false) })
	}
}

func (s *Site) setCut(node string, is bool) {
	if s.cut[node] != is {
		s.tells(node, "%s", map[bool]string{true: "is cut off from the database", false: "reaches the database again"}[is])
		s.cut[node] = is
	}
}

// EndFaults ends all faults.
func (s *Site) EndFaults() {
	s.tells("world", "nothing is wrong any more")
	s.Calm, s.Away = true, false
	clear(s.cut)
	s.set(0)
	for _, n := range s.All {
		if n.Wrong = 0; !n.up {
			n.Start()
		} else if n.stands {
			n.Thaw()
		}
	}
}
