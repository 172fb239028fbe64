package majority

import (
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
)

// append takes a record that its leader, who is this member, has executed.
func (m *Machine) append(r txlog.Record) {
	if m.leading && r.Term == m.term {
		m.queue = append(m.queue, r)
	}
}

// pump proposes what waits. A change of members waits until the one before it has ended, and what was executed after it
// waits behind it: the library would put an empty entry in its place, and the record after it would follow nothing. It waits until
// both sets of members decide, too: those of before would commit it alone, and of an entry after the change they can sign no head
// that anybody believes. Nor does it come behind the end of a change in the log of a leader that leaves with it, which would then not
// vote for those who stay. What the library drops all the same, or puts an empty entry in the place of, ends the term: those that wait for
// it would never hear of it.
func (m *Machine) pump() {
	for m.leading && len(m.queue) > 0 {
		upto, proposed := m.propose()
		if !proposed {
			return
		}
		if m.drain(); m.leading && m.log.last().at != upto {
			m.giveUp()
			m.out.Failed = fault(ErrGivenUp, "the library does not store what it has executed, up to record %d", upto.Index)
			return
		}
	}
}

// propose has the library take the next records, and returns the last one's place. It reports whether there was one.
func (m *Machine) propose() (upto txlog.Position, proposed bool) {
	last := m.log.last()
	at, decides := last.at, last.conf
	if !slices.Equal(decides.members, m.log.mark.Members) || !slices.Equal(decides.leaving, m.log.mark.Leaving) {
		return at, false
	}
	var plain []*pb.Entry
	var records []txlog.Record
	for len(m.queue) > 0 {
		r := m.queue[0]
		if err := m.fits(at, r); err != nil {
			m.refuse(m.cfg.Self, err)
			m.giveUp() // what this member executes from now on comes after it, and would be refused too
			m.out.Failed = fault(ErrGivenUp, "what it has executed itself does not come next: %w", err)
			return at, false
		}
		if r.Kind == txlog.Changed {
			if change, is := decides.change(r); is {
				if len(plain) > 0 {
					break
				}
				if !m.settled() {
					return at, false
				}
				m.queue = m.queue[1:]
				_ = m.node.ProposeConfChange(change) // pump looks
				return r.Position(), true
			}
		}
		plain, records = append(plain, &pb.Entry{Data: r.Raw()}), append(records, r)
		at = r.Position()
		m.queue = m.queue[1:]
	}
	if len(plain) == 0 {
		return at, false
	}
	m.proposed = records
	_ = m.node.Step(&pb.Message{Type: pb.MsgProp.Enum(), From: new(m.cfg.Store), Entries: plain}) // so it does here
	return at, true
}

// fits checks what the others would refuse.
func (m *Machine) fits(at txlog.Position, r txlog.Record) error {
	s := &slot{entry: Entry{Term: m.term}.theirs(), at: at}
	if err := m.follows.takes(s, r); err != nil {
		return err
	}
	if r.Kind == txlog.Changed {
		return checkMembers(r.Members)
	}
	return nil
}

// settled reports whether the library takes a change of members.
func (m *Machine) settled() bool {
	return m.log.mark.Index >= max(m.begun, m.changedAt) && len(m.log.mark.Leaving) == 0
}
