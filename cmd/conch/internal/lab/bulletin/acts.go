package bulletin

import (
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/member"
)

// acted judges an effect that a node performs.
func (r *run) acted(n *node, a member.Perform) {
	_, wanted := r.wanted[a.Key]
	r.check(wanted, Performed, "%s performs effect %d of entry %d, which is not committed", n.name, a.Key.N, a.Key.Index)
	r.check(n.mayAct(), OneDoor, "%s acts while its door is shut", n.name)
	if r.performed[a.Key]++; r.performed[a.Key] == 1 {
		r.stats["effects"]++
	} else {
		r.stats["effects_repeated"]++
	}
}

// adopted judges a snapshot that has replaced a copy.
func (r *run) adopted(n *node, base *txlog.Copy) {
	n.copy = base
	if last, is := base.Last(); is {
		r.followed(n, last)
	}
}

// suggestedName is whom gossip suggests.
func (r *run) suggestedName() string {
	if r.suggested == nil {
		return ""
	}
	return r.suggested.name
}

// query asks a node's copy.
func (n *node) query(q []byte) ([]byte, error) {
	if n.m != nil && !n.f.Snapshot().Following {
		answer, _, err := n.m.Query(q)
		return answer, err
	}
	return n.copy.Query(q)
}
