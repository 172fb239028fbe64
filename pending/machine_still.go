package pending

import "github.com/conchhq/conch/fence"

// A chain that makes blocks on demand makes none while nobody sends anything, and then nothing would come that some
// decisions wait for: a later final block for the second look at an end (W2), two blocks after a first refusal (W7,
// W12) or after a count above the rows (W5), a final block after a failover (W6). So once its head has not moved for
// StillAfter, time counts for a block, and again after each StillAfter more. A claim says so: with one endpoint its
// second look is at the same block, asked for anew. Where blocks come in that time nothing is different.

// stand counts time for a block if the head stands.
func (m *machine) stand(now fence.Instant) {
	if m.set.StillAfter <= 0 || m.head.Hash == "" {
		return
	}
	if due := m.movedAt.Add(m.set.StillAfter); now < due {
		m.later = sooner(m.later, due)
		return
	}
	m.still, m.movedAt = true, now
	m.stood++
	m.later = sooner(m.later, now.Add(m.set.StillAfter))
	if m.final.Hash != "" {
		m.finals++
		m.checkStrange(now)
	}
	m.checkAhead()
}

// height is that of the head and what time has counted for: what some blocks have to pass for is measured by it.
func (m *machine) height() uint64 { return m.head.Number + m.stood }
