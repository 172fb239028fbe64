package logworld

import "github.com/conchhq/conch/txlog"

// acted judges an effect that a node performs.
func (r *run) acted(n *node, key txlog.Key) {
	_, wanted := r.wanted[key]
	r.Check(wanted, Performed, "%s performs effect %d of entry %d, which is not committed", n.name, key.N, key.Index)
	r.Check(n.mayAct(), OneDoor, "%s acts while its door is shut", n.name)
	if r.performed[key]++; r.performed[key] == 1 {
		r.Stats["effects"]++
	} else {
		r.Stats["effects_repeated"]++
	}
}

// adopted judges a snapshot that has replaced a copy.
func (r *run) adopted(n *node, at txlog.Position) {
	if r.Check(at.Index <= r.top(), NeverAhead, "%s takes a snapshot over at %d, and %d entries are committed", n.name, at.Index, r.top()) && at.Index > 0 {
		r.same(n, at)
	}
}
