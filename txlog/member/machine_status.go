package member

import (
	"maps"
	"slices"

	"github.com/conchhq/conch/txlog"
)

// Status is what a member knows.
type Status struct {
	Leading    bool
	Opened     bool   // it leads, and executes
	Term       uint64 // the newest one that is known
	Leader     string // empty: nobody is known
	Position   txlog.Position
	Committed  uint64 // says the authority; Position is behind it if records are not here
	Stored     uint64 // the last index on this disk
	Members    []txlog.Member
	Waiting    int // goals that are not executed
	InFlight   int // entries that are executed here and not committed
	Reads      int
	Effects    int      // that the log does not say to be performed
	Rebuilding bool     // the copies are being made anew
	Refusers   []string // members that refuse what this leader sends
	Changing   bool     // the members
}

// Status returns what the member knows now.
func (m *Machine) Status() Status {
	s := Status{
		Leading: m.leading, Opened: m.opened, Term: m.term, Leader: m.leader, Position: m.base.Position(), Committed: m.committed,
		Members: slices.Clone(m.base.Members()), Waiting: len(m.goals.waiting), Reads: m.reads.count, Effects: len(m.base.Effects()),
		Rebuilding: m.doubt.rebuilding, Refusers: slices.Sorted(maps.Keys(m.doubt.refusers)), Changing: m.change != nil,
	}
	s.Stored = s.Position.Index + uint64(len(m.tail))
	if m.leading {
		s.InFlight = len(m.ahead.line)
	}
	return s
}
