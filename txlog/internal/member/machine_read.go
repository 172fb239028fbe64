package member

import (
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// read is a question whose answer must have everything that was acknowledged before it came.
type read struct {
	ticket uint64
	came   time.Duration
}

// reads wait until the authority has said up to where they must have come, and until base is there. One confirmation is
// asked for at a time, for all that came before it.
type reads struct {
	next  []*read // not asked for
	asked []*read
	first uint64 // the numbers under which those were asked for
	last  uint64
	at    time.Duration
	due   []due
	count int
}

type due struct {
	index uint64
	reads []*read
}

func (m *Machine) read(in Read) {
	if m.reads.count >= m.cfg.MostWaiting {
		m.refuse(in.Ticket, txlog.ErrTooMany)
		return
	}
	m.reads.count++
	m.reads.next = append(m.reads.next, &read{ticket: in.Ticket, came: m.now})
}

// confirm asks for those that came since the last confirmation, and again for those that have none.
func (m *Machine) confirm() {
	r := &m.reads
	switch {
	case len(r.asked) > 0 && m.now-r.at < 5*round:
		return
	case len(r.asked) > 0:
	case len(r.next) == 0:
		return
	default:
		r.asked, r.next, r.first = r.next, nil, r.last+1
	}
	r.last++
	r.at = m.now
	m.do(Confirm{Read: r.last})
}

// reconfirm asks at once again: what was asked of the last leader may be lost.
func (m *Machine) reconfirm() { m.reads.at = m.now - 5*round }

func (m *Machine) confirmed(f authority.Confirmed) {
	r := &m.reads
	if len(r.asked) == 0 || f.Read < r.first || f.Read > r.last {
		return
	}
	r.due = append(r.due, due{index: f.Index, reads: r.asked})
	r.asked = nil
}

// serve answers those for which base has come far enough.
func (m *Machine) serve() {
	at := m.base.Position()
	m.reads.due = slices.DeleteFunc(m.reads.due, func(d due) bool {
		if d.index > at.Index || m.doubt.spoiled {
			return false
		}
		for _, r := range d.reads {
			m.reads.count--
			m.answer(r.ticket, txlog.Answer{Index: at.Index, Hash: at.Hash})
		}
		return true
	})
}

// take takes out the reads that something is true of.
func (r *reads) take(is func(*read) bool) (all []*read) {
	filter := func(from []*read) []*read {
		return slices.DeleteFunc(from, func(of *read) bool {
			if is(of) {
				all = append(all, of)
				return true
			}
			return false
		})
	}
	r.asked, r.next = filter(r.asked), filter(r.next)
	for i := range r.due {
		r.due[i].reads = filter(r.due[i].reads)
	}
	r.due = slices.DeleteFunc(r.due, func(d due) bool { return len(d.reads) == 0 })
	r.count -= len(all)
	return all
}

// expireReads gives up those that nobody confirms.
func (m *Machine) expireReads() {
	for _, of := range m.reads.take(func(of *read) bool { return m.now-of.came >= patience }) {
		m.refuse(of.ticket, ErrUnconfirmed)
	}
}

// gone forgets an asker that waits no longer.
func (m *Machine) gone(ticket uint64) {
	m.goals.drop(ticket)
	m.reads.take(func(of *read) bool { return of.ticket == ticket })
	if m.change != nil {
		m.change.tickets = slices.DeleteFunc(m.change.tickets, func(of uint64) bool { return of == ticket })
	}
}
