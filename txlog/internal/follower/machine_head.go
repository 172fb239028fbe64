package follower

import (
	"errors"
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
)

// A head is a member's signed word that the log is committed up to an entry: its index, and the hashes of the entry and of the state after it.
// What becomes of one (judgeHead):
//
//   - it is of an entry that the copy has (takeOldHead): it covers that, or completes a bridge over a change of members, or contradicts it;
//   - a member has signed it (believeHead): it waits in the pool, the records up to it are wanted, and what it covers is applied;
//   - nobody known here has signed it (keepStranger): peers are asked for bridges, which prove newer members, and then it is judged anew;
//   - anything else is refused. Two that cannot both be true are evidence of a fork (tellFork), and change nothing else.
//
// via is the peer that has brought it, and m.at is the position of the copy.

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

// takeHead takes a head that a peer has brought.
func (m *Machine) takeHead(h txlog.Head, via string) {
	if m.spendAllowance(via) {
		m.judgeHead(h, via)
	}
}

// takeOwnHead takes a head that this node has just signed.
func (m *Machine) takeOwnHead(h txlog.Head) {
	if h.Log == m.at.Log && h.Index <= m.at.Index {
		m.takeOldHead(h, "", true)
		return
	}
	m.judgeHead(h, "")
}

// judgeHead judges a head. Its signature is looked at last, since that takes time.
func (m *Machine) judgeHead(h txlog.Head, via string) {
	switch {
	case h.Log != m.at.Log:
		m.refuseInput(via, fault(txlog.ErrChain, "a head is of log %s, and this is %s", h.Log.Short(), m.at.Log.Short()))
		return
	case m.knowsHead(h) || slices.Contains(m.forks, forkOf(h)):
		return
	}
	if h.Index <= m.at.Index {
		m.takeOldHead(h, via, false)
		return
	}
	switch err := m.verifyHead(h); {
	case errors.Is(err, txlog.ErrStranger):
		m.keepStranger(h, via)
	case err != nil:
		m.refuseInput(via, err)
	default:
		m.believeHead(h, via)
	}
}

// knowsHead reports whether a head is known. That of another member is another one: what becomes of the one says nothing of the other.
func (m *Machine) knowsHead(h txlog.Head) bool {
	same := func(c claim) bool { return sameWord(c.Head, h) }
	return slices.ContainsFunc(m.pool, same) || m.isAside(same)
}

// takeOldHead takes a head of what is applied: a late one, one that bridges a change of members, or one that contradicts the copy.
func (m *Machine) takeOldHead(h txlog.Head, via string, own bool) {
	mark, is := m.markOf(h.Index)
	switch {
	case !is: // it is too long ago: what the copy was then is not in memory
	case mark.hash == h.Hash && mark.state == h.State:
		m.makeBridges(h)
		if h.Position == m.at && m.firstCover(m.at.Index).Index != m.at.Index && (own && h.VerifyOwn(m.members) == nil || m.verifyHead(h) == nil) {
			m.noteCovered(h)
		}
	default:
		m.takeContradiction(h, via)
	}
}

// takeContradiction takes a head that cannot be true if the copy is.
func (m *Machine) takeContradiction(h txlog.Head, via string) {
	if err := m.verifyHead(h); err != nil {
		m.refuseInput(via, err)
		return
	}
	m.tellFork(m.firstCover(h.Index), h, h.Index)
}

// verifyHead checks who has signed a head: a member as of the copy's index, or after a change that a bridge has proven.
func (m *Machine) verifyHead(h txlog.Head) error {
	err := h.Verify(m.members)
	for _, s := range m.sets {
		if err == nil || s.index > h.Index {
			break
		}
		err = h.Verify(s.members)
	}
	return err
}

// believeHead takes a verified head of what is not applied yet.
func (m *Machine) believeHead(h txlog.Head, via string) {
	if i := slices.IndexFunc(m.pool, func(c claim) bool { return h.Forked(c.Head) }); i >= 0 {
		m.tellFork(m.pool[i].Head, h, h.Index)
	}
	m.keepClaim(h)
	if via == m.cfg.Self {
		via = ""
	}
	m.advanceCopy()
	planned := m.planned
	if m.planWants(via); m.planned == planned {
		m.wakeWants(via)
	}
}

// keepStranger keeps a head that nobody known has signed, and asks the peer that has brought it for bridges.
func (m *Machine) keepStranger(h txlog.Head, via string) {
	if slices.ContainsFunc(m.strange, func(s stranger) bool { return s.head.Position == h.Position && s.head.Member == h.Member }) {
		return
	}
	if len(m.strange) == mostStrange {
		m.refuseInput(m.strange[0].via, fault(txlog.ErrStranger, "%q", m.strange[0].head.Member))
		m.strange = m.strange[1:]
	}
	m.strange = append(m.strange, stranger{head: h, via: via, at: m.now})
	if len(m.strange) == 1 {
		m.probed = m.now
	}
	if p := m.known[via]; p != nil && m.base != nil && m.now-p.probed >= probes && p.barred <= m.now {
		p.probed = m.now
		m.pollPeer(via)
	}
}

// reviewStrangers looks again at the heads of strangers, after the members have changed.
func (m *Machine) reviewStrangers() {
	all := m.strange
	m.strange = nil
	for _, s := range all {
		if m.verifyHead(s.head) == nil {
			m.judgeHead(s.head, s.via)
		} else {
			m.strange = append(m.strange, s)
		}
	}
}

// lapseStrangers asks others than those who have brought the heads of strangers for bridges, and refuses what has stayed strange.
func (m *Machine) lapseStrangers() {
	if len(m.strange) > 0 && m.base != nil && m.now-m.probed >= probes {
		m.probed = m.now
		for _, to := range m.choosePeers(1, nil) {
			m.pollPeer(to)
		}
	}
	for len(m.strange) > 0 && m.now-m.strange[0].at >= expires {
		m.refuseInput(m.strange[0].via, fault(txlog.ErrStranger, "%q", m.strange[0].head.Member))
		m.strange = m.strange[1:]
	}
}

// tellFork tells that two heads cannot both be true.
func (m *Machine) tellFork(a, b txlog.Head, index uint64) {
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

// distrustHead takes a head out of what is to come: its entries do not follow the copy.
func (m *Machine) distrustHead(h txlog.Head) {
	m.pool = slices.DeleteFunc(m.pool, func(c claim) bool { return c.Position == h.Position })
}
