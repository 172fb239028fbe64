package follower

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
)

// claim is a verified head of what is not applied yet: one member's word. A member that lies, or a thief of its key, can sign any index.
// A majority has stored what is committed, and two majorities share a member. So a majority of members that would know (Tick.Reach)
// and have not come as far denies the head.
type claim struct {
	txlog.Head

	at time.Duration // it was heard
}

// denials is what is known of heads that a majority of the members has denied.
type denials struct {
	aside  []claim // the last ones, by age
	doubts []Doubt // by member
}

func sameWord(a, b txlog.Head) bool {
	return a.Position == b.Position && a.State == b.State && a.Member == b.Member
}

// claim keeps a head. Those of one member take no room from those of others.
func (m *Machine) claim(h txlog.Head) {
	m.pool = append(m.pool, claim{Head: h, at: m.now})
	slices.SortStableFunc(m.pool, func(a, b claim) int { return cmp.Compare(a.Index, b.Index) })
	var own []int
	for i, c := range m.pool {
		if c.Member == h.Member {
			own = append(own, i)
		}
	}
	switch n := len(m.pool); {
	case len(own) > mostClaims:
		m.pool = slices.Delete(m.pool, own[mostClaims/2], own[mostClaims/2]+1)
	case n > mostPool:
		m.pool = slices.Delete(m.pool, n/2, n/2+1)
	}
}

// vouched is the highest index that somebody says to be committed whose word counts.
func (m *Machine) vouched() uint64 {
	if m.base == nil {
		return m.at.Index
	}
	return max(m.newest().Index, m.hint, m.at.Index)
}

// newest is the newest head that counts. A new one of a member that was denied before does not, until there was time to deny it too: else
// one that says more each second would count for good.
func (m *Machine) newest() txlog.Head {
	for _, c := range slices.Backward(m.pool) {
		if m.now-c.at >= probation || !slices.ContainsFunc(m.doubts, func(d Doubt) bool { return d.Head.Member == c.Member }) {
			return c.Head
		}
	}
	return m.head
}

// tells takes note of how far a peer is.
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

// says is up to where the log is, if this node is a member that would know.
func (m *Machine) says() uint64 {
	if m.broken(KnowToDeny) {
		return m.at.Index
	}
	return m.reach
}

// denied reports whether a majority of the members has not come as far as a head says: a second after it was heard, since those who have
// stored an entry learn a moment later that it is committed.
func (m *Machine) denied(c claim) bool {
	count := 0
	for _, of := range m.members {
		p := m.known[of.Name]
		if of.Name == m.cfg.Self && m.says() > 0 && m.says() < c.Index && m.now-c.at >= doubtful ||
			p != nil && p.reach > 0 && p.reach < c.Index && p.told-c.at >= doubtful {
			count++
		}
	}
	return count >= txlog.Majority(m.members) && len(m.members) > 0 && !m.broken(DenyLies)
}

// setAside has a head count no more.
func (m *Machine) setAside(c claim) {
	if len(m.aside) == mostAside {
		m.aside = m.aside[1:]
	}
	m.aside = append(m.aside, c)
	m.narrow()
	if f := m.fetch; f != nil && f.offer.Head.Position == c.Position {
		m.lie(f.from, fault(ErrOffer, "a majority of the members has no entry %d", c.Index))
		m.abandon()
	}
	i := slices.IndexFunc(m.doubts, func(d Doubt) bool { return d.Head.Member == c.Member })
	if i < 0 {
		if len(m.doubts) == mostDoubts {
			return
		}
		i = len(m.doubts)
		m.doubts = append(m.doubts, Doubt{})
	}
	d := &m.doubts[i]
	if d.Count++; c.Index > d.Head.Index {
		d.Head = c.Head
	}
	if d.Count&(d.Count-1) == 0 {
		m.do(Doubted{Doubt: *d})
	}
}

// recall looks again at what was set aside, once the copy has come as far: it is true after all, or contradicts the copy.
func (m *Machine) recall() {
	var reached []claim
	m.aside = slices.DeleteFunc(m.aside, func(c claim) bool {
		if c.Index <= m.at.Index {
			reached = append(reached, c)
			return true
		}
		return false
	})
	for _, c := range reached {
		if mark, is := m.mark(c.Index); is && mark.hash == c.Hash && mark.state == c.State {
			m.absolve(c.Member)
		}
		m.old(c.Head, "", false)
	}
}

// absolve forgets a doubt: the log has come to what the member has signed. Those who were asked were slow.
func (m *Machine) absolve(member string) {
	for i := range m.doubts {
		if d := &m.doubts[i]; d.Head.Member == member {
			d.Count--
		}
	}
	m.doubts = slices.DeleteFunc(m.doubts, func(d Doubt) bool { return d.Count == 0 })
}
