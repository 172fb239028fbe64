package follower

import (
	"cmp"
	"slices"

	"github.com/conchhq/conch/txlog"
)

// crossing is what is known of changes of members.
type crossing struct {
	bridges []Bridge // by index
	sets    []set    // that bridges have proven and the copy has not come to yet, by index
	lacking []lack   // changes that are applied and have no bridge yet
}

// set is the members from an index on.
type set struct {
	index   uint64
	members []txlog.Member
}

// lack is a change of members for which a head is missing that one of those before has signed.
type lack struct {
	txlog.Record // which says it: what is in memory ends some time

	before []txlog.Member
}

// check checks what a bridge is by itself.
func (b *Bridge) check(log txlog.ID) error {
	n := len(b.Records)
	if n == 0 || n > MostBridge || b.Records[0].Kind != txlog.Changed {
		return fault(ErrBridge, "it has %d records, and none that changes the members", n)
	}
	for i, r := range b.Records {
		if r.Log != log || i > 0 && (r.Prev != b.Records[i-1].Hash() || r.Index != b.Records[i-1].Index+1) {
			return fault(ErrBridge, "entry %d does not follow", r.Index)
		}
	}
	if size := bridgeSize(b.Records); n > 1 && size > bridgeBytes {
		return fault(ErrBridge, "its records have %d bytes", size)
	}
	if last := b.Records[n-1]; b.Head.Position != last.Position() || b.Head.State != last.State {
		return fault(ErrBridge, "its head is not that of entry %d", last.Index)
	}
	return nil
}

func bridgeSize(records []txlog.Record) (bytes int) {
	for _, r := range records {
		bytes += len(r.Raw())
	}
	return bytes
}

// newestChange is the index of the newest change of members of which may be known.
func (m *Machine) newestChange() uint64 {
	if n := len(m.sets); n > 0 {
		return max(m.at.Index, m.sets[n-1].index)
	}
	return m.at.Index
}

// noteChange takes note of a change of members that is applied. Each of the members before signs a head of it: that is the
// shortest bridge.
func (m *Machine) noteChange(r txlog.Record) {
	before := m.members
	m.members = slices.Clone(r.Members)
	if !m.hasBridge(r.Index) {
		if len(m.lacking) == mostLacking {
			m.lacking = m.lacking[1:]
		}
		m.lacking = append(m.lacking, lack{Record: r, before: before})
	}
	if _, is := txlog.FindMember(before, m.cfg.Self); is && m.base == nil {
		m.do(Sign{Head: txlog.Head{Position: r.Position(), State: r.State, Member: m.cfg.Self}})
	}
}

// hasBridge reports whether there is a bridge over the change at an index.
func (m *Machine) hasBridge(index uint64) bool {
	_, is := slices.BinarySearchFunc(m.bridges, index, func(b Bridge, index uint64) int { return cmp.Compare(b.Index(), index) })
	return is
}

// makeBridges makes bridges of a head of what is applied.
func (m *Machine) makeBridges(h txlog.Head) {
	m.lacking = slices.DeleteFunc(m.lacking, func(l lack) bool {
		if h.Index < l.Index || h.Verify(l.before) != nil {
			return false
		}
		n := h.Index - l.Index + 1
		rest := m.recordsInMemory(l.Index + 1)
		if uint64(len(rest)) < n-1 || n > MostBridge {
			return false
		}
		b := Bridge{Head: h, Records: []txlog.Record{l.Record}}
		for _, r := range rest[:n-1] {
			b.Records = append(b.Records, r.Record)
		}
		if n > 1 && bridgeSize(b.Records) > bridgeBytes {
			return false // a head nearer to the change, or another node's bridge, may come yet
		}
		m.keepBridge(b)
		return true
	})
}

// keepBridge keeps a bridge, if there is room.
func (m *Machine) keepBridge(b Bridge) {
	at, is := slices.BinarySearchFunc(m.bridges, b.Index(), func(b Bridge, index uint64) int { return cmp.Compare(b.Index(), index) })
	if !is && len(m.bridges) < mostBridges {
		m.bridges = slices.Insert(m.bridges, at, b)
		m.do(KeepBridge{Bridge: b})
	}
}

// bridgesAfter returns the first bridges over changes after an index.
func (m *Machine) bridgesAfter(index uint64) []Bridge {
	at, _ := slices.BinarySearchFunc(m.bridges, index+1, func(b Bridge, index uint64) int { return cmp.Compare(b.Index(), index) })
	return slices.Clone(m.bridges[at:min(at+MostBridges, len(m.bridges))])
}

// takeBridge takes a bridge that a peer has given.
func (m *Machine) takeBridge(b *Bridge, from string) {
	if m.hasBridge(b.Index()) {
		return
	}
	if err := b.check(m.at.Log); err != nil {
		m.refuseLie(from, err)
		return
	}
	if b.Index() <= m.at.Index {
		m.lacking = slices.DeleteFunc(m.lacking, func(l lack) bool {
			if l.Index != b.Index() || l.Hash() != b.Records[0].Hash() || b.Head.Verify(l.before) != nil {
				return false
			}
			m.keepBridge(*b)
			return true
		})
		return
	}
	if err := m.verifyHead(b.Head); err != nil {
		m.refuseInput(from, fault(ErrBridge, "%w", err))
		return
	}
	m.proveMembers(b)
	m.keepBridge(*b)
	for _, r := range b.Records {
		if r.Index > m.at.Index {
			m.keepEarly(r, from)
		}
	}
	m.judgeHead(b.Head, from)
	m.reviewStrangers()
}

// proveMembers takes note of the members that a bridge proves.
func (m *Machine) proveMembers(b *Bridge) {
	for _, r := range b.Records {
		if r.Kind == txlog.Changed && r.Index > m.newestChange() {
			m.sets = append(m.sets, set{index: r.Index, members: r.Members})
		}
	}
}

// trimProven drops the sets to which the copy has come.
func (m *Machine) trimProven() {
	m.sets = slices.DeleteFunc(m.sets, func(s set) bool { return s.index <= m.at.Index })
}
