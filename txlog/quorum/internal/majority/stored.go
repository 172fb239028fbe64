package majority

import (
	"slices"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// Stored is what a store has of a log's authority.
type Stored struct {
	Hard    Hard
	Base    Base    // below the first entry
	Entries []Entry // consecutive, from Base.Index+1
	Mark    Mark    // up to where entries have become records
}

// Hard is what a member has promised: it never takes it back.
type Hard struct {
	Term   uint64
	Vote   uint64 // the store that it has voted for in the term; 0: nobody
	Commit uint64 // the newest entry that it knows to be stored by a majority
}

// Base is the place below the first entry that is kept.
type Base struct{ Index, Term uint64 }

// Entry is one of the library's log. Most have a record; those with which a term begins, and those that end a change of
// members, have none. So the index of an entry is not the index of its record.
type Entry struct {
	Index, Term uint64
	Change      bool   // it changes the members, or ends such a change
	Data        []byte // must not be changed

	record txlog.Record // its record, if it was read already
}

// Mark is the place up to which entries are committed and their records are kept as such.
type Mark struct {
	Base // of the last such entry

	At      txlog.Position // of the last such record
	Members []txlog.Member
	Leaving []txlog.Member // the members before, while a change goes on: majorities of both decide. Empty: no change goes on
}

// Persist is what a step asks to be kept. The fields come in the order in which they apply.
type Persist struct {
	// Sync says that it must be on the disk before the step's messages are sent and its facts are told. Else it may wait
	// for the next one: what a power cut or a kill takes then comes again from the entries, and Committed is told again.
	Sync    bool
	Hard    *Hard          // nil: as it was
	Reset   *Mark          // drop all entries, and go on from here: the records up to there are stored, or among Records
	Entries []Entry        // drop the entries from the first one's index on, and add these
	Records []txlog.Record // they are committed
	Mark    *Mark          // with Records, and when only the members or the place among the entries have moved
	Base    *Base          // entries up to here are no longer needed
}

// Empty reports whether there is nothing to keep.
func (p *Persist) Empty() bool {
	return p.Hard == nil && p.Reset == nil && len(p.Entries) == 0 && p.Mark == nil && p.Base == nil
}

// Fresh returns what a new store begins with: the log's genesis, and no promise.
func Fresh(g txlog.Genesis) Stored {
	// The library wants a log that begins above 0, or it could not tell a new member from one that has everything.
	begin := Base{Index: 1, Term: 1}
	return Stored{
		Hard: Hard{Term: 1, Commit: 1}, Base: begin,
		Mark: Mark{Base: begin, At: g.Start(), Members: slices.Clone(g.Members)},
	}
}

// Tail returns the records that are stored and not known to be committed. The error is store.ErrDamaged or
// txlog.ErrVersion.
func (s *Stored) Tail() (tail []txlog.Record, err error) {
	for _, e := range s.Entries {
		if e.Index <= s.Mark.Index {
			continue
		}
		record, has, err := e.Record()
		if err != nil {
			return nil, unread(store.ErrDamaged, err, "entry %d", e.Index)
		}
		if has {
			tail = append(tail, record)
		}
	}
	return tail, nil
}
