package follower

import "time"

// Snapshot returns what the machine knows of itself.
func (m *Machine) Snapshot() Status {
	s := Status{
		At: m.at, Head: m.newestHead(), Covered: m.lastCover(m.at.Index).Index, Known: m.vouchedIndex(), Held: len(m.early), HeldBytes: m.earlyBytes, Waiting: len(m.held),
		Spoiled: m.spoiled, Pace: m.pace.patience(), Following: m.base != nil, Forks: m.forked, Fork: m.split, Counts: m.counts,
	}
	for _, x := range m.suspects {
		s.Doubts = append(s.Doubts, x.Doubt)
	}
	if m.parked > 0 {
		s.Gap = max(m.now-m.parked, time.Nanosecond)
	}
	if m.fetch != nil {
		s.Fetching, s.Fetched = true, m.fetch.count
	}
	return s
}

// Lacks reports whether the copy has not come as far as somebody says that the log has.
func (m *Machine) Lacks() bool { return m.targetIndex() > m.at.Index }
