package crowd

// stories are small worlds that are told: the tests that document 003 asks for, with policy reign, and with the document's
// own rounds where they end otherwise.
var stories = []scene{
	{Name: "single", What: "story: one node alone", nodes: 1, rounds: 40, story: true, set: cold},
	{Name: "two-nodes", What: "story: two nodes, and the leader of the two dies", nodes: 2, rounds: 100, story: true, set: crash(1)},
	{Name: "partition", What: "story: five nodes, two of which are cut off for 60 rounds", nodes: 5, rounds: 140, deposes: true, story: true, set: partition},
	{Name: "partition-electors", What: "story: the same with five electors: the two that are cut off name nobody", nodes: 5, electors: 5, rounds: 140, story: true, set: partition},
	{Name: "leader-killed", What: "story: five nodes, and the leader is killed and starts again", nodes: 5, rounds: 120, story: true, set: leaderKilled},
	{Name: "paper-two-nodes", What: "story: two nodes with the rounds of document 003", nodes: 2, rounds: 100, paper: true, story: true, set: cold},
	{Name: "paper-killed", What: "story: five nodes with the rounds of document 003, and the leader is killed", nodes: 5, rounds: 240, paper: true, story: true, set: paperKilled},
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

// Stories returns the names of the stories.
func Stories() (names []string) {
	for _, s := range stories {
		names = append(names, s.Name)
	}
	return names
}
