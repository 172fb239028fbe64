package follower

import (
	"slices"
	"time"
)

// A head that is true was committed before it was signed, and what is committed a linearizable read finds. So a node that has not come to a head
// within a second asks how far the log is, as such a read does: a lower index shows that the head is a lie, however slow the node or the network is,
// unless it is the leader that lies, or who seems to lead.

// denials is what is known of heads that are lies.
type denials struct {
	reach    uint64        // the log is as far, at least
	since    time.Duration // it was asked for reach then; -1: never
	tried    time.Duration // it was asked last
	suspects []*suspect
	recalled uint64 // up to where the copy was compared with their heads
}

// suspect is a member that has signed such heads.
type suspect struct {
	Doubt

	aside []claim // the last ones, and when they were denied
}

// judgeClaims sets aside what is a lie, and asks how far the log is if that may be.
func (m *Machine) judgeClaims() {
	doubtful := false
	for i := 0; i < len(m.pool); i++ {
		c := m.pool[i]
		if m.wasDenied(c) {
			m.pool = slices.Delete(m.pool, i, i+1)
			m.setAside(c)
			i--
		} else if m.now-c.at >= doubted && m.since < c.at {
			doubtful = true
		}
	}
	if doubtful && (m.tried < 0 || m.now-m.tried >= probes) {
		m.tried = m.now
		m.do(Confirm{})
	}
}

// wasDenied reports whether the log was not as far as a head says, after it was heard.
func (m *Machine) wasDenied(c claim) bool {
	return m.since >= c.at && m.reach < c.Index
}

// suspectOf returns what is known of a member; nil: nothing.
func (m *Machine) suspectOf(member string) *suspect {
	for _, s := range m.suspects {
		if s.Head.Member == member {
			return s
		}
	}
	return nil
}

// isAside reports whether a head was denied not long ago. Later it is judged anew: if a member that only seemed to lead has denied it, nothing else
// may tell of its entry.
func (m *Machine) isAside(is func(claim) bool) bool {
	lately := func(c claim) bool { return m.now-c.at < expires && is(c) }
	return slices.ContainsFunc(m.suspects, func(s *suspect) bool { return slices.ContainsFunc(s.aside, lately) })
}

// setAside has a denied head count no more.
func (m *Machine) setAside(c claim) {
	m.narrowWants()
	if f := m.fetch; f != nil && f.offer.Head.Position == c.Position {
		m.refuseLie(f.from, fault(ErrOffer, "the log has no entry %d", c.Index))
		m.abandonFetch()
	}
	s := m.suspectOf(c.Member)
	if s == nil {
		s = &suspect{Doubt: Doubt{Head: c.Head}}
		m.suspects = append(m.suspects, s)
	}
	c.at = m.now
	if i := slices.IndexFunc(s.aside, func(old claim) bool { return sameWord(old.Head, c.Head) }); i >= 0 {
		s.aside[i] = c
		return
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

// recallDenied looks at the denied heads to which the copy has come. One that contradicts it is evidence of a fork as well. One that fits was signed too
// early: nobody is harmed, and its member is not named for it any more.
func (m *Machine) recallDenied() {
	for _, s := range m.suspects {
		s.aside = slices.DeleteFunc(s.aside, func(c claim) bool {
			if c.Index <= m.recalled || c.Index > m.at.Index {
				return false
			}
			mark, is := m.markOf(c.Index)
			fits := is && mark.hash == c.Hash && mark.state == c.State
			if fits {
				s.Count--
			}
			m.takeOldHead(c.Head, "", false)
			return fits
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

// dismissFormer forgets what nobody believes any more, and who has signed it: they are no members now, or have another key.
func (m *Machine) dismissFormer() {
	if len(m.suspects) > 0 {
		m.pool = slices.DeleteFunc(m.pool, func(c claim) bool { return m.suspectOf(c.Member) != nil && m.verifyHead(c.Head) != nil })
	}
	m.suspects = slices.DeleteFunc(m.suspects, func(s *suspect) bool { return m.verifyHead(s.Head) != nil })
	if m.split.B.Index > 0 && m.verifyHead(m.split.B) != nil {
		m.split = Evidence{}
	}
}
