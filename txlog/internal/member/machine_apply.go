package member

import (
	"bytes"
	"fmt"

	"github.com/conchhq/conch/txlog"
)

// stored takes what is on the disk now. The first record may replace others.
func (m *Machine) stored(records []txlog.Record) {
	for _, r := range records {
		at := m.base.Position()
		if r.Index <= at.Index {
			if r.Index == at.Index && r.Hash() != at.Hash {
				m.distrust(r.Index, fmt.Errorf("%w: entry %d is committed, and another one is stored", ErrGap, r.Index))
			}
			continue
		}
		i := r.Index - at.Index - 1
		if i > uint64(len(m.tail)) {
			m.distrust(r.Index, fmt.Errorf("%w: entry %d, and the last one is %d", ErrGap, r.Index, at.Index+uint64(len(m.tail))))
			return
		}
		m.tail = append(m.tail[:i], r) // in its place: nobody else keeps a part of it
	}
	if m.opening && !begins(m.ahead.line, m.tail) {
		m.unseated()
	}
}

// dropped takes that the disk has nothing any more from an index on.
func (m *Machine) dropped(from uint64) {
	at := m.base.Position().Index
	if from <= at {
		m.distrust(from, fmt.Errorf("%w: entry %d is committed, and is dropped", ErrGap, from))
		from = at + 1
	}
	if many := from - at - 1; many < uint64(len(m.tail)) {
		m.tail = m.tail[:many:many]
	}
}

// advance applies what is committed and stored here.
func (m *Machine) advance() {
	var applied []txlog.Record
	flush := func() {
		if len(applied) == 0 {
			return
		}
		m.do(Applied{Records: applied})
		for _, r := range applied {
			m.settle(r)
		}
		applied = nil
	}
	for len(m.tail) > 0 && m.tail[0].Index <= m.committed {
		r := m.tail[0]
		if err := m.base.Apply(r); err != nil {
			flush()
			m.unfit(r, err)
			return
		}
		m.tail = m.tail[1:]
		m.follow(r)
		applied = append(applied, r)
		if r.Kind == txlog.Scrubbed && r.Index >= m.kept+m.cfg.SnapshotEvery {
			m.base.Take()
		}
		if photo, is := m.base.Taken(); is {
			flush()
			m.keep(photo)
		}
	}
	flush()
	m.forgetRefusals()
}

// keep has a snapshot stored.
func (m *Machine) keep(photo txlog.Photo) {
	m.kept = photo.Of.Index
	m.do(Keep{Photo: photo})
}

// follow keeps the branches in step with base, to which a record was applied.
func (m *Machine) follow(r txlog.Record) {
	m.ahead.follow(r)
	m.peek.follow(r)
	if m.opening && m.ahead.copied == nil {
		m.unseated()
	}
	if r.Kind == txlog.Scrubbed {
		m.scrubbed = max(m.scrubbed, r.Index)
	}
}

// settle does what a record brings with it that is committed now.
func (m *Machine) settle(r txlog.Record) {
	switch r.Kind {
	case txlog.Opening:
		if m.leading && r.Term == m.term {
			m.opened = true
		}
	case txlog.Executed:
		for _, g := range m.goals.of(r.GoalID, !m.opened) {
			if bytes.Equal(g.Body, r.Goal) {
				m.answer(g.ticket, txlog.Answer{Index: r.Index, Hash: r.Hash(), Result: r.Result, Fault: r.Fault})
			} else {
				m.refuse(g.ticket, fmt.Errorf("%w: %q, in entry %d", txlog.ErrGoalID, r.GoalID, r.Index))
			}
		}
	case txlog.Changed:
		m.changed(r)
	case txlog.Performed, txlog.Scrubbed:
	}
}
