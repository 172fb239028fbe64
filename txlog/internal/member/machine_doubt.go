package member

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// doubt is what a member knows of a memory that may be wrong: its own, or the leader's.
type doubt struct {
	spoiled    bool  // base must not be used
	rebuilding bool  // Rebuild was said, and Rebuilt has not come
	looked     error // why Look has refused the last time
	index      uint64
	rebuilt    uint64 // the index for which the copies were made anew the last time; 0: none, or base has come further

	refusers  map[string]uint64 // members that refuse what this leader sends, and from where on
	refusedAt time.Duration     // since when there is one
}

// refused takes a refusal: another member's of what this leader sends, or this member's own.
func (m *Machine) refused(f authority.Refused) {
	if f.Index <= m.base.Position().Index {
		return // it is committed since
	}
	if f.Member == m.cfg.Self {
		why := m.doubt.looked
		if why == nil {
			why = txlog.ErrState
		}
		m.distrust(f.Index, why)
		return
	}
	members := m.base.Members()
	if _, is := txlog.FindMember(members, f.Member); !is || !m.leading {
		return
	}
	if len(m.doubt.refusers) == 0 {
		m.doubt.refusedAt = m.now
	}
	m.doubt.refusers[f.Member] = f.Index
	if len(members)-len(m.doubt.refusers) < txlog.Majority(members) {
		m.quarantine(fmt.Errorf("%w: %d of %d from entry %d on", ErrRefused, len(m.doubt.refusers), len(members), f.Index))
	}
}

// forgetRefusals drops those of entries that are committed: it was the member's own memory that was wrong.
func (m *Machine) forgetRefusals() {
	at := m.base.Position().Index
	for member, index := range m.doubt.refusers {
		if index <= at {
			delete(m.doubt.refusers, member)
		}
	}
	if at >= m.doubt.rebuilt {
		m.doubt.rebuilt = 0
	}
}

// patience ends a term in which an entry is refused by some and not committed: of the others too few are there.
func (m *Machine) patience() {
	if m.leading && len(m.doubt.refusers) > 0 && m.now-m.doubt.refusedAt >= patience {
		m.quarantine(fmt.Errorf("%w: by %d for %v, and the others are too few", ErrRefused, len(m.doubt.refusers), patience))
	}
}

// readOn has base read on. If it finds that its memory is wrong, base is made anew as if an entry did not fit: users read it.
func (m *Machine) readOn() {
	if m.doubt.spoiled {
		return
	}
	if err := m.base.ReadOn(); err != nil {
		m.doubt.spoiled = true
		m.quarantine(err)
		m.rebuild(0, err, false) // for no entry
		return
	}
	if photo, is := m.base.Taken(); is {
		m.keep(photo)
	}
}

// unfit says that a record which is committed does not fit what is here.
func (m *Machine) unfit(r txlog.Record, why error) {
	m.doubt.spoiled = m.doubt.spoiled || errors.Is(why, txlog.ErrSpoiled)
	why = fmt.Errorf("entry %d is committed, and does not fit this copy: %w", r.Index, why)
	m.distrust(r.Index, why)
	m.quarantine(why)
}

// distrust has the copies made anew from the disk, once for an index: this member's own memory may be the wrong one. After
// that it is the leader's; or, if the entry is committed, what the disk has does not fit.
func (m *Machine) distrust(index uint64, why error) {
	again := m.doubt.rebuilt == index
	if again && index > m.committed {
		return
	}
	m.rebuild(index, why, again)
}

func (m *Machine) rebuild(index uint64, why error, again bool) {
	if !m.doubt.rebuilding {
		m.doubt.rebuilding, m.doubt.index = true, index
		m.do(Rebuild{Why: why, Again: again})
	}
}

// quarantine ends this member's term: its memory is wrong, or seems so.
func (m *Machine) quarantine(why error) {
	if !m.leading {
		return
	}
	m.unseated()
	m.ahead = branch{}
	m.do(Quarantine{Term: m.term, Why: why})
	m.rebuild(m.base.Position().Index+1, why, false)
}

// rebuilt takes what the disk, or another node, has.
func (m *Machine) rebuilt(in Rebuilt) {
	line := m.ahead.line
	m.doubt.rebuilding, m.doubt.spoiled, m.doubt.looked = false, false, nil
	m.doubt.rebuilt, m.doubt.index = m.doubt.index, 0
	m.take(in.Base, in.Tail)
	if m.opening {
		m.goOn(line)
	}
	m.advance()
	m.resettle()
}

// goOn has this leader go on with what it has executed, if that fits the copy from the disk.
func (m *Machine) goOn(line []txlog.Record) {
	for len(line) > 0 && line[0].Index <= m.base.Position().Index {
		line = line[1:]
	}
	want := m.tail
	if len(line) > 0 { // it follows some of the tail, or begins with it
		want = slices.Clone(m.tail[:min(line[0].Index-m.base.Position().Index-1, uint64(len(m.tail)))])
		want = append(want, line...)
	}
	if err := m.ahead.align(m.base, m.cfg.New, want); err != nil {
		m.quarantine(fmt.Errorf("what this leader has executed does not fit the copy from its disk: %w", err))
	}
}

// resettle answers the goals whose results have come with a new base.
func (m *Machine) resettle() {
	for _, id := range m.goals.ids() {
		if _, found := m.base.Lookup(id); !found {
			continue
		}
		for _, g := range m.goals.of(id, true) {
			known, _, err := m.base.Admit(g.ID, g.Body, g.Since)
			if err != nil {
				m.refuse(g.ticket, err)
			} else {
				m.answer(g.ticket, m.said(known))
			}
		}
	}
}
