package majority

// giveUp ends the machine: its user has said so, or has appended what does not come next. What this member has proposed as a
// leader, and no majority has stored as far as it knows, it drops from its log, so that its store does not win elections with
// entries that the others refuse.
//
// An entry is committed by the leader of its term, which counts who has stored it, or later by another leader, which counts
// anew. The first one is this machine, and it has not and never will; to another one it has not said since that it has stored
// the entry. So nobody counts on it here, as if the disk had been slower than the process. Nothing else may be dropped: of what
// another leader has sent, or what was there when the machine was made, nobody here knows who counts on it.
func (m *Machine) giveUp() {
	m.failed = ErrGivenUp
	m.queue, m.posted, m.out.Messages, m.out.Facts = nil, nil, nil, nil
	mark := m.log.mark
	if m.ownFrom == 0 || m.ownFrom > mark.Index+1 || m.log.last().entry.GetIndex() == mark.Index {
		return
	}
	hard, p := m.log.hard, &m.out.Persist
	p.Hard, p.Reset, p.Entries, p.Base, p.Sync = &hard, &mark, nil, nil, true
}
