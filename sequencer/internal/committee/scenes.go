package committee

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

type scene = world.Scene[Config, Plot]

// Plot is what happens in a scene, in which a rule of economy shows: without it somebody's work starves, though nothing unsafe happens.
type Plot struct {
	ends   time.Duration // how long an intent may take
	batch  int           // intents in a request to assemble; the default if 0
	lie    *lie          // that a member tells
	goesOn time.Duration // for which users go on after its faults; 0: it has none that end
	set    func(*run)
}

// scenes are the worlds with one trouble. The first node of each is the one in trouble.
var scenes = []scene{
	{
		Name: "cut-link", What: "one link is cut, between a sender and the coordinator that the ranking names for all the time",
		In: Config{Range: 1_000_000}, Plot: Plot{ends: 20 * time.Second, set: cutLink},
	},
	{
		Name: "heights", What: "blocks reach nodes up to 8 seconds late, so that they are up to two ranges apart",
		In: Config{Nodes: 10, Range: 4}, Plot: Plot{ends: 45 * time.Second, set: heights},
	},
	{
		Name: "stuck", What: "a coordinator dies with transactions that never land, and the next range names another node",
		In: Config{Needed: 2, Range: 20}, Plot: Plot{ends: 15 * time.Second, set: stuck},
	},
	{
		Name: "contention", What: "all spend one state, one intent at a time, and one sender is slow",
		In: Config{Range: 1_000_000}, Plot: Plot{ends: 7 * time.Second, batch: 1, set: contention},
	},
	{
		Name: "half-dead", What: "a sender still assembles, and never answers when it is asked for grants",
		In: Config{Range: 1_000_000}, Plot: Plot{ends: 10 * time.Second, set: halfDead},
	},
	{
		Name: "lost-returns", What: "members refuse some intents, and every third message that gives work back is lost",
		In: Config{Range: 1_000_000}, Plot: Plot{ends: 20 * time.Second, set: lostReturns},
	},
	{
		Name: "few", What: "few notes and many payments: coordinators are killed, cut off and lose their databases, and then users go on",
		In: Config{Range: 100, Faults: time.Minute}, Plot: Plot{ends: time.Minute, goesOn: 2 * time.Minute, set: fewNotes},
	},
	{
		Name: "corrupt-coordinator", What: "the key of the coordinator that the ranking names for all the time is corrupt, so that the ledger skips what it sends",
		In: Config{Range: 1_000_000}, Plot: Plot{ends: 20 * time.Second, set: corruptCoordinator},
	},
	{
		Name: "refusing-coordinator", What: "the coordinator that the ranking names for all the time says of each intent that the members refuse it",
		In: Config{Range: 1_000_000}, Plot: Plot{ends: 20 * time.Second, set: refusingCoordinator},
	},
	{
		Name: "corrupt-member", What: "all have to endorse, and one member's signatures are wrong for a while",
		In: Config{Needed: 5, Range: 1_000_000}, Plot: Plot{ends: 60 * time.Second, set: corruptMember},
	},
}

// wish has a user of a node hand an intent in.
func (r *run) wish(at time.Duration, n *node, text string, amount uint64) *wish {
	text = fmt.Sprintf("%d %s", len(r.order), text)
	w := &wish{key: fmt.Sprint("intent ", len(r.order)), node: n, text: text, payload: domain.PayloadHash([]byte(text)), amount: amount}
	r.wishes[w.key], r.byPayload[w.payload] = w, w
	r.order = append(r.order, w.key)
	r.w.After(at, func() { r.ask(w) })
	return w
}

// stream has a user of a node hand in intents over a time.
func (r *run) stream(n *node, count int, from, over time.Duration, text string, amount uint64) {
	for i := range count {
		r.wish(from+over*time.Duration(i)/time.Duration(count)+r.w.Between(0, 10*time.Millisecond), n, text, amount)
	}
}

// first is the node that the ranking names for the first range.
func (r *run) first() *node { return r.byAccount[ledger.Account(r.committee.Order(0)[0])] }

// others are all nodes but one, in their order.
func (r *run) others(n *node) []*node {
	return slices.DeleteFunc(slices.Clone(r.nodes), func(o *node) bool { return o == n })
}

// cast gives the nodes their parts: those that the first and the second range name, and the others.
func (r *run) cast() (first, second *node, others []*node) {
	first, second = r.first(), r.byAccount[ledger.Account(r.committee.Order(1)[0])]
	for _, n := range r.nodes {
		if n != first && n != second {
			others = append(others, n)
		}
	}
	return first, second, others
}

func cutLink(r *run) {
	named := r.first()
	cut := r.others(named)[0]
	r.net.Cut(cut.name, named.name)
	r.net.Cut(named.name, cut.name)
	for _, n := range r.nodes {
		count := 200 // so that everybody hears the coordinator all the time
		if n == cut {
			count = 8
		}
		r.stream(n, count, time.Second, 40*time.Second, "give red 1", 1)
	}
}

func heights(r *run) {
	for i, n := range r.nodes {
		n.lag = 8 * time.Second * time.Duration(i) / time.Duration(len(r.nodes)-1)
		r.lagged = max(r.lagged, n.lag)
		r.stream(n, 12, time.Second, 60*time.Second, "give red 1", 1)
	}
}

func stuck(r *run) {
	old := r.first()
	next := r.byAccount[ledger.Account(r.committee.Order(1)[0])]
	r.stream(next, 10, 25*time.Second, 10*time.Second, "give blue 1", 1)
	r.w.After(12*time.Second, func() { r.chain.frozen = old.account }) // what it has sent from now on never lands
	for i := range 5 {
		r.wish(13*time.Second+time.Duration(i)*200*time.Millisecond, next, "give green 1", 1).exempt = true
	}
	r.w.After(16*time.Second, func() { old.stay = true; old.crash("for ever") })
	r.w.After(3*time.Second, func() { // and another one never answers
		for _, n := range r.nodes {
			if n != old && n != next {
				n.stay = true
				n.crash("for ever")
				return
			}
		}
	})
}

func contention(r *run) {
	slow := r.others(r.first())[0]
	slow.slow = 45 * time.Millisecond
	r.wish(10*time.Millisecond, slow, "give red 1000000", 1_000_000)
	for _, n := range r.nodes {
		if n == slow {
			r.stream(n, 5, 2*time.Second, 100*time.Millisecond, "turn red", 0)
			continue
		}
		for range 400 { // they have work for some 6 seconds, one at a time
			r.wish(2*time.Second, n, "turn red", 0).exempt = true
		}
	}
}

func halfDead(r *run) {
	half := r.first()
	half.deaf = 1500 * time.Millisecond
	r.wish(10*time.Millisecond, half, "give red 1000000", 1_000_000).exempt = true
	for i := range 20 {
		r.wish(2*time.Second+time.Duration(i)*time.Millisecond, half, "turn red", 0).exempt = true
	}
	for _, n := range r.others(half) {
		r.stream(n, 30, 4*time.Second, 20*time.Second, "turn red", 0)
	}
}

func lostReturns(r *run) {
	r.lostReturns = 0.33
	for _, n := range r.nodes {
		r.stream(n, 400, time.Second, 55*time.Second, "give red 1", 1)
		r.stream(n, 5, 2*time.Second, 20*time.Second, "odd red", 0)
	}
}

func corruptCoordinator(r *run) {
	named := r.first()
	named.corrupt = true
	for _, n := range r.nodes {
		if n == named {
			r.wish(2*time.Second, n, "give red 1", 1).exempt = true // nobody can take its grant
			continue
		}
		r.stream(n, 40, time.Second, 40*time.Second, "give red 1", 1)
	}
}

func refusingCoordinator(r *run) {
	r.first().refuses = true
	for _, n := range r.nodes {
		r.stream(n, 40, time.Second, 40*time.Second, "give red 1", 1)
		r.stream(n, 2, 2*time.Second, 20*time.Second, "odd red", 0) // the members do refuse it
	}
}

func corruptMember(r *run) {
	bad := r.others(r.first())[0]
	bad.corrupt = true
	r.w.After(15*time.Second, func() { bad.corrupt = false })
	for _, n := range r.nodes {
		r.stream(n, 20, time.Second, 40*time.Second, "give red 1", 1)
	}
}

// judgeWhole judges the end of what goes on to its end. A liar is never silent.
func (r *run) judgeWhole() {
	ends := r.scene == nil || r.cfg.Telling.On() || r.scene.Plot.goesOn > 0
	if len(r.Found) == 0 && (ends || r.scene.Plot.lie != nil) {
		r.judgeEnd()
	}
	if len(r.Found) == 0 && ends {
		r.judgeSilence()
	}
}

// judgeScene reports every intent that took too long.
func (r *run) judgeScene() {
	for _, k := range r.order {
		w := r.wishes[k]
		switch {
		case w.exempt:
		case w.result == nil && w.accepted > 0 && r.w.Now()-w.accepted > r.scene.Plot.ends:
			r.Check(false, NoStarvation, "%s of %s has not ended after %v: %s", w.key, w.node.name, r.w.Now()-w.accepted, w.node.describe(w))
		case w.result != nil && w.ended-w.accepted > r.scene.Plot.ends:
			r.Check(false, NoStarvation, "%s of %s took %v", w.key, w.node.name, w.ended-w.accepted)
		}
	}
}

// took returns how long each intent took.
func (r *run) took() (all []time.Duration) {
	for _, k := range r.order {
		if w := r.wishes[k]; w.result != nil {
			all = append(all, w.ended-w.accepted)
		}
	}
	return all
}
