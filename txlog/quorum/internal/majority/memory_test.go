package majority

import (
	"slices"

	"github.com/conchhq/conch/txlog"
)

// Memory is a store whose crash takes away what it has not synced: the model of what Promises keeps.
type Memory struct {
	now, synced Kept
}

// Kept is what a [Memory] has: what belongs to the authority, and the records.
type Kept struct {
	Stored

	Records []txlog.Record // committed, from index 1, or from where the log was entered
}

// NewMemory returns a store with this in it, synced.
func NewMemory(s Stored) *Memory {
	k := Kept{Stored: s}
	return &Memory{now: k, synced: k}
}

// Load returns what is kept. There is no error.
func (m *Memory) Load() (Stored, error) { return m.now.Stored, nil }

// Persist keeps a step's changes. There is no error.
func (m *Memory) Persist(p Persist) error {
	m.Write(p)
	if p.Sync {
		m.Sync()
	}
	return nil
}

// Write keeps a step's changes until the next crash.
func (m *Memory) Write(p Persist) {
	m.now.Apply(p)
	if n := len(p.Records); n > 0 {
		m.Keep(p.Records)
	}
}

// Apply makes a step's changes. A copy that was made before keeps what it has, as long as only one of the two is changed
// further.
func (s *Stored) Apply(p Persist) {
	if p.Hard != nil {
		s.Hard = *p.Hard
	}
	if p.Reset != nil {
		s.Base, s.Mark, s.Entries = p.Reset.Base, *p.Reset, nil
	}
	if len(p.Entries) > 0 {
		keep := min(max(p.Entries[0].Index, s.Base.Index+1)-s.Base.Index-1, uint64(len(s.Entries)))
		if keep < uint64(len(s.Entries)) {
			s.Entries = slices.Clone(s.Entries[:keep])
		}
		s.Entries = append(s.Entries, p.Entries...)
	}
	if p.Mark != nil {
		s.Mark = *p.Mark
	}
	if p.Base != nil && p.Base.Index > s.Base.Index {
		s.Entries = slices.Clone(s.Entries[min(p.Base.Index-s.Base.Index, uint64(len(s.Entries))):])
		s.Base = *p.Base
	}
}

// Keep takes committed records that have come another way.
func (m *Memory) Keep(records []txlog.Record) {
	m.now.Records = append(m.now.Records, records...)
}

// Sync makes everything last.
func (m *Memory) Sync() { m.synced = m.now }

// Crash takes away what was not synced.
func (m *Memory) Crash() { m.now = m.synced }

// Kept returns what is kept. It must not be changed, and is valid until the next crash.
func (m *Memory) Kept() Kept { return m.now }
