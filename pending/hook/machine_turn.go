package hook

import (
	"slices"
	"time"

	"github.com/conchhq/conch/pending"
)

// owed is what is to be noted, and of which intents.
type owed struct {
	Note

	of []pending.ID // one for each that was added
}

// and returns what is owed first and what then.
func (o owed) and(next owed) owed {
	o.Gone, o.Again, o.Park = append(o.Gone, next.Gone...), append(o.Again, next.Again...), append(o.Park, next.Park...)
	o.Aged, o.of = o.Aged || next.Aged, append(o.of, next.of...)
	return o
}

// owe has something noted of an intent. Until it is stored, nothing of the intent is posted.
func (m *machine) owe(l *line, id pending.ID) {
	l.unstored++
	m.owed.of, m.dirty = append(m.owed.of, id), true
}

// takeTurned takes in that a note is stored, and then what was read after it.
func (m *machine) takeTurned(in Turned) {
	if m.turning, m.turnAt, m.calmAt = false, m.now, m.now; len(in.Events) < most { // else there are more
		m.calmAt += apart
	}
	m.nextLook(in)
	stored := m.storing
	m.storing = owed{}
	for _, id := range stored.of {
		l := m.lines[id]
		l.unstored--
		m.offer(id, l)
	}
	for _, e := range in.Events {
		if e.ID <= m.settled || m.known.has(e.ID) {
			continue
		}
		m.known = m.known.with(e.ID)
		if m.wants(&e) {
			m.takeNew(e)
		}
	}
	m.settled = max(m.settled, in.Settled)
	m.known = m.known.above(m.settled)
	for _, w := range in.Waits {
		m.takeWait(w)
	}
	m.readAt, m.news = m.now+look, m.news || len(in.Events) >= most
}

// nextLook says when to look again for what waits in the store.
func (m *machine) nextLook(in Turned) {
	switch {
	case m.asked == 0:
	case len(in.Waits) >= m.asked:
		m.lookAt = m.now
	case in.NextDue > 0:
		m.lookAt = m.now + min(in.NextDue, longLook)
	default:
		m.lookAt = m.now + longLook
	}
	sooner := func(a Again) {
		if !a.Dead {
			m.lookAt = min(m.lookAt, m.now+a.Pause)
		}
	}
	for _, a := range m.storing.Again {
		sooner(a)
	}
	for _, p := range m.storing.Park {
		sooner(p.Again)
	}
	if m.seeks {
		m.lookSoon()
	}
}

// lookSoon looks for what waits in the store, since there may be a replay. A replay wakes it as an event does, of which there may be
// thousands a second: so it looks for the second one a little later.
func (m *machine) lookSoon() { m.lookAt = min(m.lookAt, max(m.now, m.lookedAt+looksApart)) }

// takeNew takes a new event that the receiver wants.
func (m *machine) takeNew(e Event) {
	l := m.line(e.Intent)
	it := &item{Event: e, since: m.now - e.Age}
	switch {
	case e.Behind || l.leaving:
		m.park(l, it, 0, "")
	case m.isDead(it):
		m.bury(l, it)
	default:
		m.open[e.ID] = true
		l.items = append(l.items, it)
		m.urgent = m.urgent || l.unstored > 0
		m.offer(e.Intent, l)
	}
}

// takeWait takes an event that waits in the store, and is due. An older one than those in memory is there after a replay.
func (m *machine) takeWait(w Wait) {
	l := m.line(w.Intent)
	switch {
	case l.leaving: // an earlier one that was refused meanwhile is to wait there, before it
		m.seeks = true
		return
	case slices.ContainsFunc(l.items, func(it *item) bool { return it.ID == w.ID }):
		return
	}
	at := 0
	for at < len(l.items) && (l.items[at].ID < w.ID || at == 0 && l.busy) {
		at++
	}
	l.items = slices.Insert(l.items, at, &item{Event: w.Event, waits: true, put: w.Put, tries: w.Tries, since: m.now - w.Since})
	m.waits++
	m.offer(w.Intent, l)
}

func (m *machine) line(id pending.ID) *line {
	l := m.lines[id]
	if l == nil {
		l = &line{}
		m.lines[id] = l
	}
	return l
}

// offer puts a line among those that are told of, or forgets it if nothing is left of it. One that has an end is told of before the others, with what is
// before that end: a block brings ends together with as much that backends wait for less.
func (m *machine) offer(id pending.ID, l *line) {
	hasty := !m.ails() && slices.ContainsFunc(l.items, (*item).isEnd)
	switch {
	case l.busy || l.unstored > 0 || l.queued && (l.hasty || !hasty):
	case len(l.items) == 0:
		delete(m.lines, id) // which is in the store, if it is leaving
	default:
		if l.queued {
			i := slices.Index(m.ready, id)
			m.ready = slices.Delete(m.ready, i, i+1)
		}
		if l.queued, l.hasty, l.leaving = true, hasty, false; hasty {
			m.hasty = append(m.hasty, id)
		} else {
			m.ready = append(m.ready, id)
		}
	}
}

// isEnd reports whether it says that its intent has ended, or that it has not any more, and was not refused before.
func (it *item) isEnd() bool {
	return !it.waits && (it.Kind == pending.ToldFinal || it.Kind == pending.ToldRejected || it.Kind == pending.ToldRewound)
}

// isDead reports whether a new event is too old for a receiver that has long refused everything.
func (m *machine) isDead(it *item) bool {
	return m.ails() && m.isCut && max(it.since, m.failing) <= m.cut
}

// bury notes that a new event is dead.
func (m *machine) bury(l *line, it *item) {
	delete(m.open, it.ID)
	m.owed.Park = append(m.owed.Park, Park{Again: Again{ID: it.ID, Tries: it.tries, Why: m.why, Dead: true}, Intent: it.Intent, Since: m.now - it.since})
	m.owe(l, it.Intent)
}

// park notes that a new event is to wait in the store.
func (m *machine) park(l *line, it *item, pause time.Duration, why string) {
	delete(m.open, it.ID)
	p := Park{Again: Again{ID: it.ID, Tries: it.tries, Pause: pause, Why: why}, Intent: it.Intent}
	if it.tries > 0 {
		p.Since = m.now - it.since
	}
	m.owed.Park = append(m.owed.Park, p)
	m.owe(l, it.Intent)
}

// rest returns what is to be noted when nothing else is done any more, and whether there is something.
func (m *machine) rest() (n Note, is bool) {
	m.owed, m.storing = m.storing.and(m.owed), owed{}
	return m.note(), m.dirty || m.turning
}

// note makes a note of what is owed.
func (m *machine) note() Note {
	n := m.owed.Note
	n.Intents = m.owed.of
	n.Place = Place{UpTo: m.settled, Beyond: m.known}.without(m.open)
	if n.Health = (Health{Failures: m.failures, Why: m.why}); m.failures > 0 {
		n.Health.For = m.now - m.failing
	}
	return n
}
