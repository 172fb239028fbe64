// Package authority has what an authority of a log is asked and what it tells. The machine of a member (package member) stands on one: a majority
// of members (package majority), or a database (package pgstore). Package authoritytest is the suite that each must pass.
package authority

import "github.com/conchhq/conch/txlog"

// Authority says which entry comes next. Its
// methods never wait. What comes of them is told as facts, in order, to its one user; a request of which nothing is told
// has come to nothing, and the next Leads or Deposed says so.
type Authority interface {
	// Campaign asks for a term. Leads or Deposed follows, or nothing.
	Campaign()
	// Append asks that a record be the next one. The authority drops it if this node no longer leads in the record's term.
	// One of kind txlog.Changed changes the members with its commit.
	Append(r txlog.Record)
	// Confirm asks up to where a read must have come to see everything that was acknowledged before. Confirmed answers, or
	// nothing does.
	Confirm(read uint64)
}

// Fact is what an authority tells: one of the types below.
type Fact interface{ fact() }

type (
	// Leads says that this node leads in a new term. Stored has told everything that was stored before it.
	Leads struct{ Term uint64 }
	// Deposed says that this node leads no more, or follows another leader, or knows of none. What it had appended and was
	// not stored is dropped.
	Deposed struct {
		Term   uint64 // the newest one that is known
		Leader string // its leader; empty: nobody is known
	}
	// Stored says that records are on this node's disk, its own and the leader's. The first may be at an index that was
	// stored before: then everything from there on has been replaced.
	Stored struct{ Records []txlog.Record }
	// Dropped says that the records from an index on, which were stored here, are stored no more, and no others have taken
	// their place yet.
	Dropped struct{ From uint64 }
	// Committed says that everything up to an index is stored by a majority, and will never be replaced.
	Committed struct{ Index uint64 }
	// Confirmed answers Confirm: a copy that is at the index or above has all that was acknowledged when it was asked.
	Confirmed struct{ Read, Index uint64 }
	// Refused says that a member does not store what this leader sends: by its own memory the state comes out otherwise.
	Refused struct {
		Member string
		Index  uint64
	}
)

func (Leads) fact()     {}
func (Deposed) fact()   {}
func (Stored) fact()    {}
func (Dropped) fact()   {}
func (Committed) fact() {}
func (Confirmed) fact() {}
func (Refused) fact()   {}
