package majority

import (
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// view is the library's log, as the library reads it. What is in it is kept by the store, or asked to be in the step that
// goes on: nothing leaves the machine before.
type view struct {
	hard  Hard
	base  Base
	slots []*slot // consecutive, from base.Index+1
	mark  Mark
	size  int    // bytes of the slots' data
	clean uint64 // entries up to this one have no record in memory
}

// slot is an entry, with what holds after it.
type slot struct {
	entry  *pb.Entry
	record txlog.Record   // without bytes: it has none, or is committed since an earlier step
	at     txlog.Position // of the last record up to here
	conf   *conf          // the members that decide from here on; nil below the mark
}

// news reports whether the slot has a record after an index.
func (s *slot) news(after uint64) bool { return s.record.Raw() != nil && s.record.Index > after }

func (s *slot) id() Base { return Base{Index: s.entry.GetIndex(), Term: s.entry.GetTerm()} }

// newView reads what a store has kept. The error is store.ErrDamaged or txlog.ErrVersion.
func newView(s Stored, f follows) (*view, error) {
	v := &view{hard: s.Hard, base: s.Base, mark: s.Mark}
	switch {
	case s.Mark.Index < s.Base.Index:
		return nil, fault(store.ErrDamaged, "entries are kept from %d, and the mark is at %d", s.Base.Index+1, s.Mark.Index)
	case s.Mark.Index > s.Base.Index+uint64(len(s.Entries)):
		return nil, fault(store.ErrDamaged, "entries are kept up to %d, and the mark is at %d", s.Base.Index+uint64(len(s.Entries)), s.Mark.Index)
	case s.Hard.Commit < s.Mark.Index || s.Hard.Commit > s.Base.Index+uint64(len(s.Entries)):
		return nil, fault(store.ErrDamaged, "entries are kept up to %d, %d have become records, and %d are said to be committed",
			s.Base.Index+uint64(len(s.Entries)), s.Mark.Index, s.Hard.Commit)
	case s.Hard.Term < s.Base.Term:
		return nil, fault(store.ErrDamaged, "the term is %d, and there are entries of term %d", s.Hard.Term, s.Base.Term)
	}
	at := &slot{entry: Entry{Index: s.Mark.Index, Term: s.Mark.Term}.theirs(), at: s.Mark.At, conf: &conf{s.Mark.Members, s.Mark.Leaving}}
	if err := at.conf.check(); err != nil {
		return nil, fault(store.ErrDamaged, "%w", err)
	}
	for i, e := range s.Entries {
		if e.Index != s.Base.Index+1+uint64(i) || e.Term > s.Hard.Term {
			return nil, fault(store.ErrDamaged, "entry %d of term %d stands at the place of entry %d, in term %d", e.Index, e.Term, s.Base.Index+1+uint64(i), s.Hard.Term)
		}
		next := &slot{entry: e.theirs()}
		switch {
		case e.Index == s.Mark.Index:
			next.at, next.conf = at.at, at.conf
		case e.Index > s.Mark.Index:
			var err error
			if next, err = f.follow(at, e.theirs()); err != nil {
				return nil, unread(store.ErrDamaged, err, "entry %d", e.Index)
			}
			at = next
		}
		v.push(next)
	}
	return v, nil
}

func (v *view) push(s *slot) {
	v.slots = append(v.slots, s)
	v.size += len(s.entry.GetData())
}

// last returns the last entry; of an empty log, the place below it.
func (v *view) last() *slot { return v.slot(v.base.Index + uint64(len(v.slots))) }

// slot returns the entry at an index, from the base up to the last one; nil outside of that.
func (v *view) slot(index uint64) *slot {
	switch {
	case index < v.base.Index || index > v.base.Index+uint64(len(v.slots)):
		return nil
	case index > v.base.Index:
		return v.slots[index-v.base.Index-1]
	}
	below := &slot{entry: Entry{Index: v.base.Index, Term: v.base.Term}.theirs()}
	if v.base.Index == v.mark.Index {
		below.at, below.conf = v.mark.At, &conf{v.mark.Members, v.mark.Leaving}
	}
	return below
}

// matches reports whether the log has an entry.
func (v *view) matches(index, term uint64) bool {
	s := v.slot(index)
	return s != nil && s.entry.GetTerm() == term
}

// replace adds an entry, and drops those that were at its index and above.
func (v *view) replace(s *slot) {
	for v.last().entry.GetIndex() >= s.entry.GetIndex() {
		v.size -= len(v.last().entry.GetData())
		v.slots = v.slots[:len(v.slots)-1]
	}
	v.push(s)
}

// forget drops the records of committed entries from memory: the library needs the data alone.
func (v *view) forget() {
	for v.clean = max(v.clean, v.base.Index); v.clean < v.mark.Index; v.clean++ {
		v.slot(v.clean + 1).record = txlog.Record{}
	}
}

// reset drops everything and begins at a mark.
func (v *view) reset(m Mark) { v.base, v.mark, v.slots, v.size = m.Base, m, nil, 0 }

// compact drops committed entries if there are twice as many as are to be kept. It reports whether it has.
func (v *view) compact(keep uint64) bool {
	have := v.mark.Index - v.base.Index
	if have <= 2*keep && (v.size <= 2*mostKept || have == 0) {
		return false
	}
	drop := uint64(0)
	for drop < have && (have-drop > keep || v.size > mostKept) {
		v.size -= len(v.slots[drop].entry.GetData())
		drop++
	}
	v.base = v.slots[drop-1].id()
	v.slots = append([]*slot(nil), v.slots[drop:]...)
	return true
}

// InitialState returns what the log begins with.
func (v *view) InitialState() (*pb.HardState, *pb.ConfState, error) {
	hard := &pb.HardState{Term: new(v.hard.Term), Vote: new(v.hard.Vote), Commit: new(v.hard.Commit)}
	return hard, v.mark.confState(), nil
}

// Entries returns entries from low to below high.
func (v *view) Entries(low, high, size uint64) (all []*pb.Entry, err error) {
	switch {
	case low <= v.base.Index:
		return nil, raft.ErrCompacted
	case high > v.base.Index+uint64(len(v.slots))+1:
		return nil, raft.ErrUnavailable
	}
	for _, s := range v.slots[low-v.base.Index-1 : high-v.base.Index-1] {
		// What the library counts is a little more than the data.
		if n := uint64(len(s.entry.GetData())) + 32; n <= size || len(all) == 0 {
			all = append(all, s.entry)
			size -= min(n, size)
			continue
		}
		break
	}
	return all, nil
}

// Term returns an entry's term.
func (v *view) Term(index uint64) (uint64, error) {
	if index < v.base.Index {
		return 0, raft.ErrCompacted
	}
	if s := v.slot(index); s != nil {
		return s.entry.GetTerm(), nil
	}
	return 0, raft.ErrUnavailable
}

// LastIndex returns the index of the last entry.
func (v *view) LastIndex() (uint64, error) { return v.base.Index + uint64(len(v.slots)), nil }

// FirstIndex returns the index of the first entry.
func (v *view) FirstIndex() (uint64, error) { return v.base.Index + 1, nil }

// Snapshot returns from where a member goes on that is too far behind for entries. What is there, the member gets as a
// follower does.
func (v *view) Snapshot() (*pb.Snapshot, error) {
	return &pb.Snapshot{
		Data:     v.mark.Encode(),
		Metadata: &pb.SnapshotMetadata{ConfState: v.mark.confState(), Index: new(v.mark.Index), Term: new(v.mark.Term)},
	}, nil
}
