package member

import (
	"fmt"
	"slices"

	"github.com/conchhq/conch/txlog"
)

// change is of the members. There is one at a time.
type change struct {
	members  []txlog.Member
	since    uint64 // an entry as of which an asker has seen who the members are
	tickets  []uint64
	proposed bool
	entry    txlog.Hash
}

func (m *Machine) changeMembers(in Change) {
	err := txlog.CheckMembers(in.Members)
	switch {
	case err != nil:
	case !m.leading:
		err = m.elsewhere()
	case m.change != nil && !slices.Equal(m.change.members, in.Members):
		err = txlog.ErrChanging
	case m.change != nil && len(m.change.tickets) >= m.cfg.MostWaiting:
		err = txlog.ErrTooMany
	case m.change != nil:
		m.change.tickets = append(m.change.tickets, in.Ticket)
		m.change.since = max(m.change.since, in.Since) // the others see it as done then
		return
	default:
		m.change = &change{members: slices.Clone(in.Members), since: in.Since, tickets: []uint64{in.Ticket}}
		return
	}
	m.refuse(in.Ticket, err)
}

// proposeChange makes the entry of a change that waits. One that is made already is answered. One whose askers have not seen the members
// of now is refused: it may be a late copy, and undo what was asked for since. All changes that were stored before this term are
// applied by now.
func (m *Machine) proposeChange() {
	c := m.change
	if c == nil || c.proposed || !m.opened {
		return
	}
	if at := m.base.Position(); slices.Equal(c.members, m.base.Members()) {
		m.change = nil
		for _, ticket := range c.tickets {
			m.answer(ticket, txlog.Answer{Index: at.Index, Hash: at.Hash})
		}
		return
	}
	if last := m.base.ChangedAt(); last > c.since {
		m.refuseChange(fmt.Errorf("%w: by entry %d, and the asker has seen those of entry %d", txlog.ErrChanged, last, c.since))
		return
	}
	c.proposed = true
	if err := m.propose(txlog.Entry{Kind: txlog.Changed, Members: c.members}); err != nil {
		m.refuseChange(err)
		return
	}
	c.entry = m.ahead.copied.Position().Hash
}

// changed answers those that wait for a set of members.
func (m *Machine) changed(r txlog.Record) {
	c := m.change
	if c == nil || c.entry != r.Hash() {
		return
	}
	m.change = nil
	for _, ticket := range c.tickets {
		m.answer(ticket, txlog.Answer{Index: r.Index, Hash: r.Hash()})
	}
}

// refuseChange answers that this member cannot say what becomes of a change. Asking again for the same set does no harm.
func (m *Machine) refuseChange(why error) {
	if m.change == nil {
		return
	}
	for _, ticket := range m.change.tickets {
		m.refuse(ticket, why)
	}
	m.change = nil
}
