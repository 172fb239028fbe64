package swarm

import (
	"math/rand/v2"
	"slices"
)

// Strike is something that the demo does to the nodes.
type Strike string

// The strikes.
const (
	KillLeader Strike = "kill-leader" // with -9; then it is started again
	KillWriter Strike = "kill-writer" // the same with the leader of the log
	Wipe       Strike = "wipe"        // a member of the log loses its disk
	Crash      Strike = "crash"       // a tenth of the others, at once
	Part       Strike = "part"        // two fifths of the nodes, with three of seven electors, are cut off
)

// cycle is the order of the strikes, again and again; the one that needs relays is the last.
var cycle = []Strike{KillLeader, KillWriter, Crash, Wipe, KillLeader, Part}

// Plan chooses who is struck. Equal seeds make equal choices, as far as the same nodes lead.
type Plan struct {
	random   *rand.Rand
	nodes    []string
	electors []string
	next     int
}

// NewPlan makes a plan for nodes, of which the electors are some.
func NewPlan(seed uint64, nodes, electors []string) *Plan {
	return &Plan{random: rand.New(rand.NewPCG(seed, 24)), nodes: nodes, electors: electors} //nolint:gosec // a plan must follow from its seed
}

// Next returns the next strike, and whether it is the last of a cycle. Without cuts the network is not parted.
func (p *Plan) Next(cuts bool) (s Strike, last bool) {
	all := cycle
	if !cuts {
		all = all[:len(all)-1]
	}
	s = all[p.next%len(all)]
	p.next++
	return s, p.next%len(all) == 0
}

// Tenth returns a tenth of the nodes, at least one, without the leader. Of the electors one in three dies at most, so that
// most of them live.
func (p *Plan) Tenth(leader string) (victims []string) {
	most := len(p.electors) / 3
	for _, n := range p.shuffled(p.nodes) {
		elector := slices.Contains(p.electors, n)
		if n == leader || elector && most == 0 || len(victims) >= max(1, len(p.nodes)/10) {
			continue
		}
		if elector {
			most--
		}
		victims = append(victims, n)
	}
	return victims
}

// Side returns two fifths of the nodes, with the largest minority of the electors, and without the leader.
func (p *Plan) Side(leader string) map[string]bool {
	side, electors := map[string]bool{}, 0
	for _, n := range p.shuffled(p.electors) {
		if n != leader && electors < (len(p.electors)-1)/2 {
			side[n], electors = true, electors+1
		}
	}
	for _, n := range p.shuffled(p.nodes) {
		if len(side) < len(p.nodes)*2/5 && !slices.Contains(p.electors, n) {
			side[n] = true
		}
	}
	return side
}

// One returns one of the nodes.
func (p *Plan) One(of []string) string { return of[p.random.IntN(len(of))] }

func (p *Plan) shuffled(names []string) []string {
	all := slices.Clone(names)
	p.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}
