package logworld

import (
	"slices"
	"time"

	"github.com/conchhq/conch/internal/world"
)

// The points at which a leader dies, of a goal's way through it.
const (
	received  = "has received a goal"
	executed  = "has executed a goal and not proposed it"
	stored    = "has stored an entry and told nobody"
	committed = "knows an entry to be committed and has not answered"
)

// trap waits for a node to come to a point, and kills it there.
type trap struct {
	point string
	on    *node // nil: the first node that comes there
	host  bool
	wait  time.Duration // until it starts again
}

// passes has a node come to a point. It is false if the node dies there.
func (n *node) passes(point string) bool {
	r := n.r
	for i, t := range r.traps {
		if t.point == point && (t.on == nil || t.on == n) && n.up {
			r.traps = append(r.traps[:i:i], r.traps[i+1:]...)
			r.tell(n, "%s, and dies there", point)
			n.crash(t.host)
			n.restarts(t.wait)
			r.Stats["traps"]++
			return false
		}
	}
	return true
}

// fault is one trouble of the world with every fault.
type fault struct {
	weight int
	do     func(*run)
}

var allFaults = []fault{
	{10, func(r *run) { r.kill(r.leader(), r.w.Chance(0.5), r.w.Between(2*round, 60*round)) }},
	{8, func(r *run) { r.kill(r.some(), r.w.Chance(0.5), r.w.Between(2*round, 60*round)) }},
	{10, (*run).setTrap},
	{8, (*run).cutSome},
	{6, (*run).cutLeader},
	{6, func(r *run) { r.oneWay(r.some(), r.some(), r.w.Between(5*round, 60*round)) }},
	{5, func(r *run) { r.oneWayLeader(r.w.Chance(0.5)) }},
	{5, func(r *run) { r.weather(func(n *network) { n.loss, n.stalls = 20, false }) }},
	{5, func(r *run) { r.weather(func(n *network) { n.loss, n.stalls = 20, true }) }},
	{4, func(r *run) { r.weather(func(n *network) { n.twice = 30 }) }},
	{3, func(r *run) { r.weather(func(n *network) { n.slow = 3 * round }) }},
	{5, (*run).flap},
	{6, func(r *run) { r.stop(r.leader(), r.w.Between(3*round, 50*round)) }},
	{4, func(r *run) { r.stop(r.some(), r.w.Between(3*round, 50*round)) }},
	{3, func(r *run) { r.loseDisk(r.someMember()) }},
	{3, func(r *run) { r.damage(r.someMember()) }},
	{3, func(r *run) { r.flip(r.leader()) }},
	{3, func(r *run) { r.flip(r.some()) }},
	{4, (*run).changeMembers},
	{2, (*run).powerCut},
}

// faults has something happen every second or two.
func (r *run) faults() {
	r.w.Again(r.w.Between(10*round, 20*round), func() time.Duration {
		if r.quiet {
			return 0
		}
		world.Weighed(r.w.Pick, allFaults, func(f fault) int { return f.weight }).do(r)
		return r.w.Between(2*round, 30*round)
	})
}

func (r *run) some() *node { return r.nodes[r.w.Pick(len(r.nodes))] }

func (r *run) someMember() *node {
	all := r.members()
	return r.byName[all[r.w.Pick(len(all))].Name]
}

func (r *run) kill(n *node, host bool, wait time.Duration) {
	if n != nil && n.up {
		n.crash(host)
		n.restarts(wait)
	}
}

func (r *run) stop(n *node, wait time.Duration) {
	if n != nil {
		n.pause(wait)
	}
}

func (r *run) setTrap() {
	points := [...]string{received, executed, stored, committed}
	r.traps = append(r.traps, &trap{point: points[r.w.Pick(len(points))], host: r.w.Chance(0.5), wait: r.w.Between(2*round, 40*round)})
}

// cutSome parts the members, the most that leaves a majority or one more.
func (r *run) cutSome() {
	var a, b []*node
	for _, i := range r.shuffled(len(r.nodes)) {
		if n := r.nodes[i]; len(a) < len(r.nodes)*2/5 {
			a = append(a, n)
		} else {
			b = append(b, n)
		}
	}
	r.tell(nil, "the network is cut: %d nodes | %d nodes", len(a), len(b))
	r.cutFor(a, b, r.w.Between(5*round, 80*round))
}

// cutLeader cuts the leader off, alone or with one other.
func (r *run) cutLeader() {
	l := r.leader()
	if l == nil {
		return
	}
	a := []*node{l}
	if o := r.some(); o != l && r.w.Chance(0.5) {
		a = append(a, o)
	}
	r.tell(l, "is cut off")
	r.cutFor(a, r.except(a...), r.w.Between(5*round, 80*round))
}

func (r *run) except(some ...*node) []*node {
	return slices.DeleteFunc(slices.Clone(r.nodes), func(n *node) bool { return slices.Contains(some, n) })
}

// oneWayLeader has the leader hear nobody, or be heard by nobody.
func (r *run) oneWayLeader(deaf bool) {
	l := r.leader()
	if l == nil {
		return
	}
	r.tell(l, "%s", map[bool]string{true: "hears nobody", false: "is heard by nobody"}[deaf])
	wait := r.w.Between(5*round, 50*round)
	for _, n := range r.except(l) {
		if deaf {
			r.oneWay(n, l, wait)
		} else {
			r.oneWay(l, n, wait)
		}
	}
}

// weather changes the network for a time.
func (r *run) weather(change func(*network)) {
	change(&r.net)
	r.w.After(r.w.Between(10*round, 50*round), r.fair)
}

// fair gives the network back the weather that the run was asked for.
func (r *run) fair() {
	r.net.loss, r.net.stalls, r.net.twice, r.net.slow = r.cfg.Loss, r.cfg.Stalls, 0, 0
}

// flap has the suggested leader change all the time.
func (r *run) flap() {
	r.flaps = r.w.Now() + r.w.Between(10*round, 50*round)
	r.tell(nil, "the suggested leader changes all the time")
	r.w.Again(0, func() time.Duration {
		if r.quiet || !r.flapping() {
			return 0
		}
		r.suggests(r.someMember())
		return r.w.Between(round, 5*round)
	})
}

// powerCut has all hosts die at one time.
func (r *run) powerCut() {
	r.tell(nil, "the power fails")
	for _, n := range r.nodes {
		r.kill(n, true, r.w.Between(2*round, 30*round))
	}
}

func (r *run) shuffled(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := r.w.Pick(i + 1)
		order[i], order[j] = order[j], order[i]
	}
	return order
}
