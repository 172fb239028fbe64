package follower

import (
	"errors"
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
)

// stranger is a head that no member known here has signed. Members may have changed since the copy's index.
type stranger struct {
	head txlog.Head
	via  string
	at   time.Duration
}

// fork is a head that contradicts the copy, or another head.
type fork struct {
	index       uint64
	hash, state txlog.Hash
}

func forkOf(h txlog.Head) fork { return fork{h.Index, h.Hash, h.State} }

// heard takes a head that a peer has brought.
func (m *Machine) heard(h txlog.Head, via string) {
	if m.takes(via) {
		m.hear(h, via)
	}
}

// signed takes a head that this node has just signed.
func (m *Machine) signed(h txlog.Head) {
	if h.Log == m.at.Log && h.Index <= m.at.Index {
		m.old(h, "", true)
		return
	}
	m.hear(h, "")
}

// hear judges a head. Its signature is looked at last, since that takes time.
func (m *Machine) hear(h txlog.Head, via string) {
	switch {
	case h.Log != m.at.Log:
		m.refuse(via, fault(txlog.ErrChain, "a head is of log %s, and this is %s", h.Log.Short(), m.at.Log.Short()))
		return
	case m.has(h) || slices.Contains(m.forks, forkOf(h)):
		return
	}
	if h.Index <= m.at.Index {
		m.old(h, via, false)
		return
	}
	switch err := m.verify(h); {
	case errors.Is(err, txlog.ErrStranger):
		m.wonder(h, via)
	case err != nil:
		m.refuse(via, err)
	default:
		m.believe(h, via)
	}
}

// has reports whether a head is known. That of another member is another one: what becomes of the one says nothing of the other.
func (m *Machine) has(h txlog.Head) bool {
	same := func(c claim) bool { return sameWord(c.Head, h) }
	return slices.ContainsFunc(m.pool, same) || m.isAside(same)
}

// old takes a head of what is applied: a late one, one that bridges a change of members, or one that contradicts the copy.
func (m *Machine) old(h txlog.Head, via string, own bool) {
	mark, is := m.mark(h.Index)
	switch {
	case !is: // nobody can say any more
	case mark.hash == h.Hash && mark.state == h.State:
		m.spans(h)
		if h.Position == m.at && m.cover(m.at.Index).Index != m.at.Index && (own && h.VerifyOwn(m.members) == nil || m.verify(h) == nil) {
			m.covered(h)
		}
	default:
		m.contradicts(h, via)
	}
}

// contradicts takes a head that cannot be true if the copy is.
func (m *Machine) contradicts(h txlog.Head, via string) {
	if err := m.verify(h); err != nil {
		m.refuse(via, err)
		return
	}
	m.parts(m.cover(h.Index), h, h.Index)
}

// verify checks who has signed a head: a member as of the copy's index, or after a change that a bridge has proven.
func (m *Machine) verify(h txlog.Head) error {
	err := h.Verify(m.members)
	for _, s := range m.sets {
		if err == nil || s.index > h.Index {
			break
		}
		err = h.Verify(s.members)
	}
	return err
}

// believe takes a verified head of what is not applied yet.
func (m *Machine) believe(h txlog.Head, via string) {
	if i := slices.IndexFunc(m.pool, func(c claim) bool { return h.Forked(c.Head) }); i >= 0 {
		m.parts(m.pool[i].Head, h, h.Index)
	}
	m.claim(h)
	if via == m.cfg.Self {
		via = ""
	}
	m.advance()
	planned := m.planned
	if m.plan(via); m.planned == planned {
		m.wake(via)
	}
}

// wonder keeps a head that nobody known has signed, and asks the peer that has brought it for bridges.
func (m *Machine) wonder(h txlog.Head, via string) {
	if slices.ContainsFunc(m.strange, func(s stranger) bool { return s.head.Position == h.Position && s.head.Member == h.Member }) {
		return
	}
	if len(m.strange) == mostStrange {
		m.refuse(m.strange[0].via, fault(txlog.ErrStranger, "%q", m.strange[0].head.Member))
		m.strange = m.strange[1:]
	}
	m.strange = append(m.strange, stranger{head: h, via: via, at: m.now})
	if len(m.strange) == 1 {
		m.probed = m.now
	}
	if p := m.known[via]; p != nil && m.base != nil && m.now-p.probed >= probes && p.barred <= m.now {
		p.probed = m.now
		m.poll(via)
	}
}

// review looks again at the heads of strangers, after the members have changed.
func (m *Machine) review() {
	all := m.strange
	m.strange = nil
	for _, s := range all {
		if m.verify(s.head) == nil {
			m.hear(s.head, s.via)
		} else {
			m.strange = append(m.strange, s)
		}
	}
}

// lapse asks others than those who have brought the heads of strangers for bridges, and refuses what has stayed strange.
func (m *Machine) lapse() {
	if len(m.strange) > 0 && m.base != nil && m.now-m.probed >= probes {
		m.probed = m.now
		for _, to := range m.choose(1, nil) {
			m.poll(to)
		}
	}
	for len(m.strange) > 0 && m.now-m.strange[0].at >= expires {
		m.refuse(m.strange[0].via, fault(txlog.ErrStranger, "%q", m.strange[0].head.Member))
		m.strange = m.strange[1:]
	}
}

// parts tells that two heads cannot both be true.
func (m *Machine) parts(a, b txlog.Head, index uint64) {
	m.forked++
	if len(m.forks) == mostForks {
		m.forks = m.forks[1:]
	}
	m.forks = append(m.forks, forkOf(b))
	e := Evidence{A: a, B: b, Index: index}
	if m.split.B.Index == 0 || index <= m.split.Index { // also at the same: what the copy has applied tells which of the two is amiss
		m.split = e
	}
	m.do(e)
}

// distrust takes a head out of what is to come: its entries do not follow the copy.
func (m *Machine) distrust(h txlog.Head) {
	m.pool = slices.DeleteFunc(m.pool, func(c claim) bool { return c.Position == h.Position })
}
