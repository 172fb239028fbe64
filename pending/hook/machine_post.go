package hook

import (
	"time"

	"github.com/conchhq/conch/internal/splitmix"
)

// nextPost returns what is posted next, if there is a place for it. A receiver that ails gets one at a time, of another intent each time.
func (m *machine) nextPost() (p post, is bool) {
	for len(m.ready)+len(m.hasty) > 0 && m.posting < Places && (!m.ails() || m.posting == 0 && m.now >= m.probeAt) {
		from := &m.ready
		if len(m.hasty) > 0 {
			from = &m.hasty
		}
		id := (*from)[0]
		l := m.lines[id]
		*from, l.queued = (*from)[1:], false
		if l.unstored > 0 || len(l.items) == 0 { // since it was put there; it comes again, if anything is left of it
			m.offer(id, l)
			continue
		}
		if it := l.items[0]; !it.waits && m.isDead(it) { // what became of one before it was not stored when the others died
			l.items = l.items[1:]
			m.bury(l, it)
			continue
		}
		l.busy = true
		m.posting++
		return post{event: l.items[0].Event, try: l.items[0].tries + 1}, true
	}
	return p, false
}

func (m *machine) takeAnswer(in answered) {
	l := m.lines[in.intent]
	it := l.items[0]
	l.busy = false
	m.posting--
	if !in.ok {
		m.takeRefusal(l, it, in.why)
		return
	}
	if m.ails() {
		m.lookAt = m.now // what waits in the store need not wait any more
	}
	m.failures, m.isCut, m.why = 0, false, ""
	l.items = l.items[1:]
	if it.waits {
		m.waits--
		m.owed.Gone = append(m.owed.Gone, it.put)
		m.lookAt = m.now // for those behind it
	}
	delete(m.open, it.ID)
	m.urgent = m.urgent || len(l.items) > 0
	m.owe(l, it.Intent)
}

// takeRefusal has an event wait in the store, if the receiver takes others.
func (m *machine) takeRefusal(l *line, it *item, why string) {
	m.why, m.dirty = why, true
	if m.failures++; m.failures == 1 {
		m.failing = m.now
	}
	if it.tries++; it.tries == 1 && !m.ails() { // else it dies with those that were never tried
		it.since = m.now
	}
	if m.ails() {
		m.probeAt = m.now + probes[min(m.failures-ailing, len(probes)-1)]
		m.expire()
	}
	switch {
	case it.waits:
		a := Again{ID: it.ID, Tries: it.tries, Pause: pauseAfter(it), Why: why, Dead: m.now-it.since >= GiveUp}
		m.owed.Again = append(m.owed.Again, a)
		m.owe(l, it.Intent)
		m.leave(l)
	case m.ails():
		m.offer(it.Intent, l)
	default:
		m.park(l, it, pauseAfter(it), why)
		m.leave(l)
	}
}

// leave has what is in memory of an intent wait in the store, behind the first, which was refused.
func (m *machine) leave(l *line) {
	for i, it := range l.items {
		switch {
		case it.waits:
			m.waits--
		case i > 0:
			m.park(l, it, 0, "")
		}
	}
	l.items, l.leaving = nil, true
}

// expire declares dead what is too old for a receiver that has refused everything for long. Only an answer does: while nobody
// asks, nothing dies.
func (m *machine) expire() {
	m.cut, m.isCut, m.owed.Aged = m.now-GiveUp, true, true
	for _, l := range m.lines {
		if l.busy || l.unstored > 0 {
			continue
		}
		kept := l.items[:0]
		for _, it := range l.items {
			if !it.waits && m.isDead(it) {
				m.bury(l, it)
				continue
			}
			kept = append(kept, it)
		}
		l.items = kept
	}
}

// pauseAfter returns how long an event waits that was refused: up to an eighth longer, so that those of one outage do not come back at once.
func pauseAfter(it *item) time.Duration {
	pause := pauses[min(it.tries, len(pauses))-1]
	return pause + pause*time.Duration(splitmix.Mix(uint64(it.ID), uint64(it.tries))%64)/512
}
