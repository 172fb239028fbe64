//go:build unix

package chaos

import (
	"time"

	"github.com/conchhq/conch/fence"
)

// active is a fault that is on.
type active struct {
	*Wound
	over time.Time
	at   [works]string // the machine that did each work when it came
}

// aim looks whom a fault hits and writes it down.
func (n *nemesis) aim(f Fault) *active {
	w := &Wound{Number: n.taken, Fault: f, Epoch: n.w.last[rows].epoch}
	n.wounds = append(n.wounds, w)
	for _, m := range n.meant(f) {
		w.Nodes = append(w.Nodes, m.ID)
	}
	a := &active{Wound: w}
	for i, last := range n.w.last {
		a.at[i] = last.node
	}
	w.At = fence.Boottime()
	return a
}

// meant finds the machines that a fault is for. One that is dead already, by a fault
// that is still on, cannot be hit again.
func (n *nemesis) meant(f Fault) []*Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case f.Target == Everybody && f.Kind != FrozenFence && f.Kind != BusyFence:
		return n.Nodes
	case f.Target == Leaders: // the database knows, when it is asked to end them
		return nil
	}
	leader, run := n.w.last[rows].node, n.w.last[children].node
	var first, rest []*Node
	for _, m := range n.Nodes {
		wanted := m.ID == leader
		switch f.Target {
		case Supervisor:
			wanted = m.ID == run
		case Follower:
			wanted = m.ID != leader && m.ID != run
		case Leader, Leaders, Everybody:
		}
		switch {
		case m.gone():
		case wanted:
			first = append(first, m)
		default:
			rest = append(rest, m)
		}
	}
	for _, some := range [][]*Node{first, rest} {
		if len(some) > 0 {
			return some[f.Pick%len(some):][:1]
		}
	}
	return nil
}

// hit are the machines of a wound.
func (n *nemesis) hit(w *Wound) (hit []*Node) {
	for _, m := range n.Nodes {
		if w.of(m.ID) {
			hit = append(hit, m)
		}
	}
	return hit
}
