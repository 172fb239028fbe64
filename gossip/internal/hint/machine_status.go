package hint

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// Due returns when a Tick has something to do next, at a node that is nowhere a candidate: a heartbeat that decides which leader it names
// counts no more, or a peer is to be asked. Until then a Tick does nothing, and nobody can tell whether it came. What comes before
// that may bring it forward.
func (m *Machine) Due() time.Duration {
	due := m.asked + m.exchangePause()
	if len(m.listed) == 0 {
		due = m.now + m.exchangePause() // there is nobody to ask
	}
	for _, s := range m.order {
		for _, c := range s.ranked {
			due = min(due, c.made+s.valid+1)
		}
	}
	return due
}

// Pass says how late it is, for the ages in what is asked. It is no Tick: what waits to be read may come before that.
func (m *Machine) Pass(now time.Duration) { m.now = max(m.now, now) }

// Snapshot returns what the machine knows, in the order of its namespaces. The leader is judged by the clock of now: what it has
// said may be over since then, and no Tick have come that says so.
func (m *Machine) Snapshot() (all []Status) {
	for _, s := range m.order {
		st := Status{Namespace: s.cfg.Name, Suggestion: s.suggested, State: s.state, Until: max(s.until, s.withdrawn), Valid: s.valid, Heard: -1, Changes: s.changes, Top: s.top}
		for _, c := range s.ranked {
			st.Known = append(st.Known, Known{Subject: c.said.Subject, Heartbeat: c.beat, Age: m.now - c.made})
		}
		valid := s.valid
		if s.paper != nil {
			valid = s.cfg.Paper.validFor()
		}
		if m.stoodStill(s) {
			st.State = Listening
		}
		st.Lacking, st.Silent = m.lackingSince(s)
		switch made, heard := m.heardOf(s, s.suggested.Leader); {
		case s.suggested.Self && st.State == Leading:
			st.Heard = 0
		case !s.suggested.Self && heard && m.now-made <= valid:
			st.Heard = m.now - made
		case s.suggested.Leader != wire.Subject{}:
			st.Suggestion = Suggestion{}
		}
		if st.Leader == (wire.Subject{}) {
			st.Unled = m.unledSince(s)
		}
		all = append(all, st)
	}
	return all
}

// unledSince returns since when this node names nobody: the end of its last leader's last word, if it was not told of that yet.
func (m *Machine) unledSince(s *seat) time.Duration {
	switch made, heard := m.heardOf(s, s.suggested.Leader); {
	case !m.started:
		return m.now
	case s.suggested.Leader == wire.Subject{}:
		return max(s.suggested.Since, m.began)
	case heard:
		return min(made+s.valid, m.now)
	}
	return m.now
}

// lackingSince returns since when this node, an elector, hears no majority of the electors, itself counted, and which it does not hear. The
// time is below 0 if it hears one, or if it cannot know yet: it has just begun, or stood still.
func (m *Machine) lackingSince(s *seat) (since time.Duration, silent []wire.Subject) {
	if s.state == Bystander || s.isOpen() || s.paper != nil || !m.started || m.stoodStill(s) {
		return -1, nil
	}
	var heard []time.Duration
	for _, e := range s.cfg.Electors {
		c := s.all[e]
		if c != nil {
			heard = append(heard, c.made)
		}
		if e != m.cfg.Self && (c == nil || !m.isFresh(s, c)) {
			silent = append(silent, e)
		}
	}
	if m.hearsEnough(s, s.valid) {
		return -1, silent
	}
	slices.SortFunc(heard, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	since = m.began
	if others := len(s.elector) / 2; len(heard) >= others {
		since = max(since, heard[others-1])
	}
	if m.now-since <= s.valid {
		return -1, silent
	}
	return since, silent
}

// heardOf returns when the last word of a leader was said, if there was one.
func (m *Machine) heardOf(s *seat, leader wire.Subject) (made time.Duration, heard bool) {
	if c := s.all[leader]; c != nil {
		return c.made, true
	}
	if s.paper != nil && s.paper.evidence[leader] != nil {
		return s.paper.evidence[leader].made, true
	}
	return 0, false
}

// Refusals returns how much was refused, by reason: an error of this package or of package wire.
func (m *Machine) Refusals() map[error]int { return maps.Clone(m.refused) }

// News returns the news that is kept, the youngest first, and this node's own with it.
func (m *Machine) News() []Item {
	m.forgetNews()
	all := make([]Item, 0, len(m.news))
	for _, n := range m.news {
		all = append(all, Item{Statement: n.said.Statement, Age: m.now - n.made})
	}
	slices.SortFunc(all, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.Age, b.Age), slices.Compare(a.Subject[:], b.Subject[:]), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Topic, b.Topic))
	})
	return all
}
