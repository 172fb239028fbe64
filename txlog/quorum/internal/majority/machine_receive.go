package majority

import (
	"errors"
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// receive takes a message, if it is one that a member sends to this one.
func (m *Machine) receive(in Received) {
	stores := m.storesOf(in.From)
	if len(stores) == 0 || in.From == m.cfg.Self {
		if !m.parts(in) {
			m.refuse(in.From, ErrStranger)
		}
		return
	}
	o, err := skim(m.cfg.Log, in.Bytes)
	if err == nil && (!slices.Contains(stores, o.from) || o.to != m.cfg.Store) {
		err = ErrOtherStore
	}
	var e envelope
	if err == nil {
		e, err = o.open()
	}
	if err != nil {
		m.refuse(in.From, err)
		return
	}
	if r := e.refusal; r != nil {
		m.refusedBy(in.From, r)
		return
	}
	msg := e.library
	if err := m.guard(msg); err != nil {
		m.refuse(in.From, err)
		if errors.Is(err, ErrForked) {
			m.parted = parted{with: in.From, at: m.pace.ticks}
		}
		return
	}
	if m.forks(msg) {
		m.split(in.From, msg)
		return
	}
	m.pace.lived(msg)
	if msg.GetType() == pb.MsgSnap && m.lags(in.From, msg) {
		return
	}
	if msg.GetType() == pb.MsgApp && !m.looks(in.From, msg) {
		m.hears(msg.GetFrom())
		return
	}
	_ = m.node.Step(msg) // a message of somebody who is no member any more
	m.drain()
	if kind := msg.GetType(); kind == pb.MsgPreVote || kind == pb.MsgVote {
		m.pace.spoke[msg.GetFrom()] = m.pace.ticks // no beat: if it has led, it has died since
		return
	}
	m.hears(msg.GetFrom())
}

// storesOf returns the stores of a member, by what is committed, stored, or known to be committed. During a change it may
// have two.
func (m *Machine) storesOf(name string) (ids []uint64) {
	sets := [][]txlog.Member{m.log.mark.Members, m.log.mark.Leaving, nil, nil, nil, nil}
	if last := m.log.last().conf; last != nil {
		sets[2], sets[3] = last.members, last.leaving
	}
	if m.known != nil {
		sets[4], sets[5] = m.known.Members, m.known.Before
	}
	for _, set := range sets {
		for _, of := range set {
			if of.Name == name && of.Store != m.cfg.Store {
				ids = append(ids, of.Store)
			}
		}
	}
	return ids
}

// looks reports whether the library may store what a leader sends.
func (m *Machine) looks(from string, msg *pb.Message) bool {
	index, err := m.look(msg)
	switch {
	case err == nil:
		return true
	case errors.Is(err, ErrForked):
		m.split(from, msg)
		return false
	}
	m.refuse(from, err)
	m.tell(authority.Refused{Member: m.cfg.Self, Index: index})
	r := refusal{from: m.cfg.Store, to: msg.GetFrom(), term: msg.GetTerm(), index: index}
	m.out.Messages = append(m.out.Messages, Message{To: from, Bytes: seal(m.cfg.Log, ofRefusal, r.encode())})
	return false
}

// look looks at what a message would have stored. It finds it as the library does: from the first entry on that is not
// here, if what comes before it is.
func (m *Machine) look(msg *pb.Message) (refused uint64, err error) {
	if msg.GetTerm() < m.term || msg.GetIndex() < m.log.hard.Commit || !m.log.matches(msg.GetIndex(), msg.GetLogTerm()) {
		return 0, nil // the library stores nothing of it
	}
	entries := msg.GetEntries()
	for len(entries) > 0 && m.log.matches(entries[0].GetIndex(), entries[0].GetTerm()) {
		entries = entries[1:]
	}
	if len(entries) == 0 {
		return 0, nil
	}
	at := m.log.slot(entries[0].GetIndex() - 1)
	first := at.at.Index + 1
	records := m.notTold(at, first)
	m.fresh = m.fresh[:0]
	for _, e := range entries {
		next, err := m.follows.follow(at, e)
		if err != nil && m.strays(at, e) {
			err = ErrForked
		}
		if err != nil {
			return at.at.Index + 1, err
		}
		at = next
		m.fresh = append(m.fresh, next)
		if at.news(m.have) {
			records = append(records, at.record)
		}
	}
	if len(records) == 0 {
		return 0, nil
	}
	return first, m.cfg.Look(records)
}

// notTold returns the records before the first new one that this step has stored: Look has not heard of them yet.
func (m *Machine) notTold(at *slot, first uint64) (records []txlog.Record) {
	if m.untold == 0 {
		return nil
	}
	for s := at; s != nil && s.at.Index >= m.untold && s.at.Index < first; s = m.log.slot(s.entry.GetIndex() - 1) {
		if s.news(m.have) {
			records = append(records, s.record)
		}
	}
	slices.Reverse(records)
	return records
}

// refusedBy takes the word of a member that it does not store what this leader sends.
func (m *Machine) refusedBy(from string, r *refusal) {
	switch {
	case !m.leading || r.term != m.term:
	case r.fork:
		m.hears(r.from)
		m.parted = parted{with: from, upto: r.index, at: m.pace.ticks}
		m.refuse(from, fault(ErrForked, "it says that what this leader has is not what is committed there, up to record %d", r.index))
	default:
		m.hears(r.from)
		m.tell(authority.Refused{Member: from, Index: r.index})
	}
}
