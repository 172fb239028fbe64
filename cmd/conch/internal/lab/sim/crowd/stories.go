package crowd

import "github.com/conchhq/conch/gossip"

// stories are small worlds that are told: the tests that document 003 asks for, with policy reign, and with the document's
// own rounds where they end otherwise.
var stories = []scene{
	{Name: "single", What: "story: one node alone", Story: true, In: Config{Nodes: 1, Rounds: 40}, Plot: plot{set: cold}},
	{Name: "two-nodes", What: "story: two nodes, and the leader of the two dies", Story: true, In: Config{Nodes: 2, Rounds: 100}, Plot: plot{set: crash(1)}},
	{Name: "partition", What: "story: five nodes, two of which are cut off for 60 rounds", Story: true, In: Config{Nodes: 5, Rounds: 140}, Plot: plot{deposes: true, set: partition}},
	{Name: "partition-electors", What: "story: the same with five electors: the two that are cut off name nobody", Story: true, In: Config{Nodes: 5, Electors: 5, Rounds: 140}, Plot: plot{set: partition}},
	{Name: "leader-killed", What: "story: five nodes, and the leader is killed and starts again", Story: true, In: Config{Nodes: 5, Rounds: 120}, Plot: plot{set: leaderKilled}},
	{Name: "paper-two-nodes", What: "story: two nodes with the rounds of document 003", Story: true, In: Config{Nodes: 2, Rounds: 100, Policy: gossip.Paper}, Plot: plot{set: cold}},
	{Name: "paper-killed", What: "story: five nodes with the rounds of document 003, and the leader is killed", Story: true, In: Config{Nodes: 5, Rounds: 240, Policy: gossip.Paper}, Plot: plot{set: paperKilled}},
}

// partition cuts two nodes off, the leader not among them.
func partition(r *run) {
	r.then(func(l *node) {
		var cut []*node
		for _, n := range r.nodes {
			if n != l && len(cut) < 2 {
				cut = append(cut, n)
			}
		}
		r.part(cut, 60*round)
	})
}

func leaderKilled(r *run) {
	r.then(func(l *node) {
		r.crash(l)
		r.within(r.recovery(), "the leader was killed")
		r.w.After(30*round, func() { r.restart(l) })
	})
}

func paperKilled(r *run) {
	r.then(func(l *node) { r.crash(l) })
}
