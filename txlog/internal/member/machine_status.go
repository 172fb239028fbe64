package member

import "github.com/conchhq/conch/txlog"

// Status is what a member knows.
type Status struct {
	Term       uint64 // the newest one that is known
	Leader     string // empty: nobody is known
	Position   txlog.Position
	Committed  uint64 // says the authority; Position is behind it if records are not here
	Effects    int    // that the log does not say to be performed
	Rebuilding bool   // the copies are being made anew
}

// Status returns what the member knows now.
func (m *Machine) Status() Status {
	return Status{
		Term: m.term, Leader: m.leader, Position: m.base.Position(), Committed: m.committed, Effects: len(m.base.Effects()), Rebuilding: m.doubt.rebuilding,
	}
}
