package authoritytest

import (
	"fmt"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// Judge hears what the authorities of one log tell their users, and knows what an authority has promised. The zero value
// has heard nothing. It is not safe for concurrent use.
type Judge struct {
	log       txlog.ID
	committed []txlog.Record    // by anybody
	leaders   map[uint64]string // of terms
	heard     map[string]*Heard
}

// Heard is what one node knows by the facts that it was told.
type Heard struct {
	Records   []txlog.Record // stored, from index 1
	Committed uint64
	Term      uint64 // the newest
	Leader    string // of that term, as far as it is known
	Leads     bool
	reads     map[uint64]uint64 // asked for: what was committed then
}

// NewJudge returns the judge of a log.
func NewJudge(log txlog.ID) *Judge {
	return &Judge{log: log, leaders: map[uint64]string{}, heard: map[string]*Heard{}}
}

// Of returns what a node knows. It must not be changed.
func (j *Judge) Of(node string) *Heard {
	h := j.heard[node]
	if h == nil {
		h = &Heard{reads: map[uint64]uint64{}}
		j.heard[node] = h
	}
	return h
}

// Committed returns the newest index that anybody was told to be committed.
func (j *Judge) Committed() uint64 { return uint64(len(j.committed)) }

// Asked notes that a node asks to where a read must come.
func (j *Judge) Asked(node string, read uint64) { j.Of(node).reads[read] = j.Committed() }

// Began notes that a node has started, with what its user has kept. The error says what was lost.
func (j *Judge) Began(node string, records []txlog.Record, committed uint64) error {
	h := j.Of(node)
	if committed < h.Committed {
		return fmt.Errorf("%s was told that entry %d is committed, and has kept that of entry %d", node, h.Committed, committed)
	}
	if old, now := last(h.Records), last(records); now.Index < old.Index && now.Term <= old.Term {
		return fmt.Errorf("%s was told that entry %d is stored, and has kept %d", node, old.Index, now.Index)
	}
	h.Leads, h.Leader, h.reads, h.Records = false, "", map[uint64]uint64{}, nil
	h.Term = max(h.Term, last(records).Term)
	if err := j.stored(node, h, records); err != nil {
		return err
	}
	h.Committed = 0
	return j.commit(node, h, committed)
}

// Hear takes what a node was told. The error says which promise is broken.
func (j *Judge) Hear(node string, f authority.Fact) error {
	h := j.Of(node)
	switch f := f.(type) {
	case authority.Leads:
		if f.Term <= h.Term {
			return fmt.Errorf("%s leads in term %d, and knew of term %d", node, f.Term, h.Term)
		}
		if other, ok := j.leaders[f.Term]; ok {
			return fmt.Errorf("%s and %s lead in term %d", node, other, f.Term)
		}
		j.leaders[f.Term] = node
		h.Term, h.Leader, h.Leads = f.Term, node, true
	case authority.Deposed:
		if f.Term < h.Term {
			return fmt.Errorf("%s is told of term %d, and knew of term %d", node, f.Term, h.Term)
		}
		if leader, ok := j.leaders[f.Term]; ok && f.Leader != "" && f.Leader != leader {
			return fmt.Errorf("%s is told that %s leads in term %d, and %s does", node, f.Leader, f.Term, leader)
		}
		h.Term, h.Leader, h.Leads = f.Term, f.Leader, false
	case authority.Stored:
		return j.stored(node, h, f.Records)
	case authority.Dropped:
		if f.From <= h.Committed || f.From > uint64(len(h.Records)) {
			return fmt.Errorf("%s is told that entries from %d on are gone, and has %d, of which %d are committed", node, f.From, len(h.Records), h.Committed)
		}
		h.Records = h.Records[: f.From-1 : f.From-1]
	case authority.Committed:
		if f.Index <= h.Committed {
			return fmt.Errorf("%s is told that entry %d is committed, after entry %d", node, f.Index, h.Committed)
		}
		return j.commit(node, h, f.Index)
	case authority.Confirmed:
		least, ok := h.reads[f.Read]
		if !ok {
			return fmt.Errorf("read %d of %s is confirmed, which nobody has asked for or which was answered", f.Read, node)
		}
		delete(h.reads, f.Read)
		if f.Index < least {
			return fmt.Errorf("read %d of %s is confirmed at entry %d, and entry %d was acknowledged before it was asked", f.Read, node, f.Index, least)
		}
	case authority.Refused:
	default:
		return fmt.Errorf("%s was told %T, which is no fact", node, f)
	}
	return nil
}

// last returns the place of the newest of some records, zero if there is none.
func last(records []txlog.Record) txlog.Position {
	if len(records) == 0 {
		return txlog.Position{}
	}
	return records[len(records)-1].Position()
}

// stored takes records that a node was told to have on its disk.
func (j *Judge) stored(node string, h *Heard, records []txlog.Record) error {
	for i, r := range records {
		before := txlog.Position{Log: j.log, Hash: j.log}
		if i == 0 && r.Index <= uint64(len(h.Records)) && r.Index > 0 {
			if r.Index <= h.Committed {
				return fmt.Errorf("%s is told that entry %d is another one, and it is committed", node, r.Index)
			}
			h.Records = h.Records[: r.Index-1 : r.Index-1]
		}
		if n := len(h.Records); n > 0 {
			before = h.Records[n-1].Position()
		}
		switch {
		case r.Log != j.log || r.Index != before.Index+1 || r.Prev != before.Hash || r.Term < before.Term:
			return fmt.Errorf("%s has stored entry %d of term %d after entry %d of term %d, which it does not follow", node, r.Index, r.Term, before.Index, before.Term)
		case r.Term > h.Term && h.Term > 0:
			return fmt.Errorf("%s has stored entry %d of term %d, and was told of term %d at most", node, r.Index, r.Term, h.Term)
		case h.Leads && r.Term != h.Term:
			return fmt.Errorf("%s leads in term %d and is told only now that entry %d of term %d was stored", node, h.Term, r.Index, r.Term)
		}
		h.Records = append(h.Records, r)
	}
	return nil
}

// commit notes that a node knows what it has to be committed up to an index.
func (j *Judge) commit(node string, h *Heard, index uint64) error {
	if index > uint64(len(h.Records)) {
		return fmt.Errorf("%s is told that entry %d is committed, and has %d", node, index, len(h.Records))
	}
	for i := h.Committed; i < index; i++ {
		r := h.Records[i]
		if i == j.Committed() {
			j.committed = append(j.committed, r)
		}
		if known := j.committed[i]; known.Hash() != r.Hash() {
			return fmt.Errorf("entry %d is committed twice: as %s at %s, and as %s before", i+1, r.Hash().Short(), node, known.Hash().Short())
		}
	}
	h.Committed = index
	return nil
}
