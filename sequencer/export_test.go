package sequencer

// Rows counts what a store in memory has.
func (m *Memory) Rows() (intents, grants, attempts, states, others int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.contracts {
		intents += len(t.intents)
		for _, o := range t.intents {
			grants += len(o.Grants)
		}
		attempts += len(t.wholes)
		states += len(t.states)
		others += len(t.missing) + len(t.early) + len(t.rows)
	}
	return intents, grants, attempts, states, others
}
