//go:build unix

package chaos

import (
	"time"

	"github.com/conchhq/conch/fence"
)

type active struct {
	*Injection
	over time.Time
	at   [works]string // the machine that did each work when the fault began
}

// aim chooses the machines for a fault and records the injection.
func (n *nemesis) aim(f Fault) *active {
	in := &Injection{Number: n.taken, Fault: f, Epoch: n.w.last[rows].epoch}
	n.injections = append(n.injections, in)
	for _, m := range n.meant(f) {
		in.Nodes = append(in.Nodes, m.ID)
	}
	a := &active{Injection: in}
	for i, last := range n.w.last {
		a.at[i] = last.node
	}
	in.At = fence.Boottime()
	return a
}

// meant returns the machines that a fault is for. A machine that an earlier fault has killed
// cannot be hit again.
func (n *nemesis) meant(f Fault) []*Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case f.Target == Everybody && f.Kind != FrozenFence && f.Kind != BusyFence:
		return n.Nodes
	case f.Target == Leaders: // the database names them when their sessions are ended
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

func (n *nemesis) hit(in *Injection) (hit []*Node) {
	for _, m := range n.Nodes {
		if in.of(m.ID) {
			hit = append(hit, m)
		}
	}
	return hit
}
