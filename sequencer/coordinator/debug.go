package coordinator

import "fmt"

func (m *Machine) Debug() (out []string) {
	for id, o := range m.flight.creates {
		out = append(out, fmt.Sprintf("%x by %x/%d state %v inherited %v block %d until %d boarded %v; head %d final %d", id[:3], o.by.assembled[:3], o.by.Sequence.Counter, o.by.state, o.by.inherited, o.by.block, o.by.grant.ValidUntil, o.by.boarded, m.head, m.final()))
	}
	return out
}
