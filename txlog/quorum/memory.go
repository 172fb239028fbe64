package quorum

import "github.com/conchhq/conch/txlog"

// Memory is a store for tests and simulations. What it has not synced, a crash takes away. It is used by one goroutine at a
// time.
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
