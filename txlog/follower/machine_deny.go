package follower

import (
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
)

// What is committed a linearizable read finds: a member that asks the leader after a head was heard, and learns of a lower index, knows that the
// head is a lie, however slow it is and whatever it knew before. A majority of the members has to say so, since one alone may lie as well.

// assurance is what this node has learned of the leader about how far the log is, for the word that it gives to others.
type assurance struct {
	reach uint64
	since time.Duration // it asked for reach then; -1: never
	tried time.Duration // it asked last
}

// sure asks how far the log is when this node's word as a member counts: a head is doubtful here, or to a peer, which asks for its entry alone.
func (m *Machine) sure() {
	pause := 5 * round
	if m.since < m.tried { // the loop goes on asking
		pause = probes
	}
	if _, is := txlog.FindMember(m.members, m.cfg.Self); !is || m.tried >= 0 && m.now-m.tried < pause {
		return
	}
	needs := func(at time.Duration) bool { return m.now-at >= doubtful && m.since < at }
	if slices.ContainsFunc(m.pool, func(c claim) bool { return needs(c.at) }) ||
		slices.ContainsFunc(m.held, func(h held) bool { return h.pull.From == h.pull.Upto && needs(h.at) }) {
		m.tried = m.now
		m.do(Confirm{})
	}
}

func (m *Machine) confirmed(in Confirmed) {
	if in.Since > m.since {
		m.reach, m.since = in.Index, in.Since
	}
}

// says is up to where the log is, as learned since an instant; 0: nothing was.
func (m *Machine) says(since time.Duration) uint64 {
	switch {
	case m.broken(KnowToDeny):
		return m.at.Index
	case m.since < since:
		return 0
	}
	return m.reach
}

// tells takes note of how far the log is by a peer's word.
func (m *Machine) tells(from string, k *ask, a *Answer) {
	if p := m.known[from]; p != nil && a.At > 0 && k.at >= p.told {
		p.reach, p.told = a.At, k.at
	}
}

// judge sets aside what a majority of the members denies, and asks them about what has not come in time.
func (m *Machine) judge() {
	for i := 0; i < len(m.pool); i++ {
		if c := m.pool[i]; m.denied(c) {
			m.pool = slices.Delete(m.pool, i, i+1)
			m.setAside(c)
			i--
		}
	}
	i := len(m.pool) - 1
	for i >= 0 && m.now-m.pool[i].at < doubtful {
		i--
	}
	if i < 0 {
		return
	}
	index := m.pool[i].Index
	for _, of := range m.members {
		if p := m.known[of.Name]; p != nil && of.Name != m.cfg.Self && m.now-p.shown >= probes {
			p.shown = m.now
			m.pull(ask{to: of.Name, from: index, upto: index})
		}
	}
}

// denied reports whether the log was not as far as a head says when it was heard, by the word of a majority of the members.
func (m *Machine) denied(c claim) bool {
	count := 0
	for _, of := range m.members {
		reach, since := m.says(c.at), c.at
		if of.Name != m.cfg.Self {
			p := m.known[of.Name]
			if p == nil {
				continue
			}
			reach, since = p.reach, p.told
		}
		if reach > 0 && reach < c.Index && since >= c.at {
			count++
		}
	}
	return count >= txlog.Majority(m.members) && len(m.members) > 0 && !m.broken(DenyLies)
}

// denials is what is known of heads that a majority of the members has denied.
type denials struct {
	suspects []*suspect
	recalled uint64 // up to where the copy was compared with their heads
}

// suspect is a member that has signed such heads.
type suspect struct {
	Doubt

	aside []claim // the last ones
}

// suspect returns what is known of a member; nil: nothing.
func (m *Machine) suspect(member string) *suspect {
	for _, s := range m.suspects {
		if s.Head.Member == member {
			return s
		}
	}
	return nil
}

func (m *Machine) isAside(is func(claim) bool) bool {
	return slices.ContainsFunc(m.suspects, func(s *suspect) bool { return slices.ContainsFunc(s.aside, is) })
}

// setAside has a denied head count no more.
func (m *Machine) setAside(c claim) {
	m.narrow()
	if f := m.fetch; f != nil && f.offer.Head.Position == c.Position {
		m.lie(f.from, fault(ErrOffer, "a majority of the members has no entry %d", c.Index))
		m.abandon()
	}
	s := m.suspect(c.Member)
	if s == nil {
		s = &suspect{Doubt: Doubt{Head: c.Head}}
		m.suspects = append(m.suspects, s)
	}
	if len(s.aside) == mostAside {
		s.aside = s.aside[1:]
	}
	s.aside = append(s.aside, c)
	if s.Count++; c.Index > s.Head.Index {
		s.Head = c.Head
	}
	if s.Count <= mostAside || s.Count&(s.Count-1) == 0 {
		m.do(Doubted{Doubt{Head: c.Head, Count: s.Count}})
	}
}

// recall looks at the denied heads to which the copy has come: one contradicts it, or is true by now, since it was a lie of what came later.
func (m *Machine) recall() {
	for _, s := range m.suspects {
		s.aside = slices.DeleteFunc(s.aside, func(c claim) bool {
			if c.Index <= m.recalled || c.Index > m.at.Index {
				return false
			}
			mark, is := m.mark(c.Index)
			came := is && mark.hash == c.Hash && mark.state == c.State
			if came {
				s.Count--
				m.do(Cleared{Head: c.Head})
			}
			m.old(c.Head, "", false)
			return came
		})
		for i, c := range s.aside {
			if i == 0 || c.Index > s.Head.Index {
				s.Head = c.Head
			}
		}
	}
	m.recalled = m.at.Index
	m.suspects = slices.DeleteFunc(m.suspects, func(s *suspect) bool { return s.Count == 0 })
}

// dismiss forgets the suspects that nobody believes any more: they are no members now, or have another key.
func (m *Machine) dismiss() {
	m.suspects = slices.DeleteFunc(m.suspects, func(s *suspect) bool { return m.verify(s.Head) != nil })
}
