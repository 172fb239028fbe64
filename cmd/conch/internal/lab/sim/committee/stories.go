package committee

import (
	"cmp"
	"time"

	"github.com/conchhq/conch/sequencer/ledger"
)

// stories are small worlds that are told message by message: those that document 002 describes. Where it lets heights
// decide, there are two: one as this package does it, and one by the document's words, without the rule named-range.
var stories = toldSmall([]scene{
	{Name: "happy-path", What: "story: an intent from its user to a final block", set: happyPath},
	{Name: "switchover", What: "story: the range turns while a coordinator has work, dispatched and not", blocks: 8, set: switchover},
	{Name: "sender-behind", What: "story: the range has turned, and a sender does not know yet", blocks: 8, set: senderBehind},
	{Name: "old-behind", What: "story: the range has turned, and the old coordinator does not know yet", blocks: 8, set: oldBehind},
	{Name: "new-behind", What: "story: the range has turned, and the new coordinator does not know yet", blocks: 8, set: newBehind},
	{Name: "sender-failover", What: "story: a sender dies with a grant that is stored", set: senderFailover},
	{Name: "coordinator-failover", What: "story: a coordinator dies with work, dispatched and not, and comes back", set: coordinatorFailover},
	{Name: "preferred-returns", What: "story: the coordinator that the ranking names comes back", needed: 4, set: preferredReturns},
	{Name: "never-lands", What: "story: what a coordinator submits does not land, until its grant is over", set: neverLands},
	{Name: "partition", What: "story: a partition; one side has a majority", nodes: 5, needed: 3, set: parted},
	{Name: "partition-all", What: "story: a partition where every member must endorse", nodes: 5, needed: 5, set: parted},
	{Name: "partition-limp", What: "story: a partition where both sides can land, and spend the same states", nodes: 5, needed: 2, set: parted},
})

// toldSmall gives stories what they have in common. Without a length of its ranges a story has one range.
func toldSmall(all []scene) []scene {
	for i := range all {
		s := &all[i]
		s.story, s.Ends, s.lasts = true, 30*time.Second, 20*time.Second
		s.nodes, s.blocks = cmp.Or(s.nodes, 4), cmp.Or(s.blocks, 1000)
	}
	return all
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

// when does something as soon as it is so.
func (r *run) when(is func() bool, do func()) {
	r.w.After(time.Millisecond, func() {
		if is() {
			do()
			return
		}
		r.when(is, do)
	})
}

// turns does something when the range has turned for those that see blocks at once.
func (r *run) turns(do func()) {
	r.when(func() bool { return r.committee.RangeOf(r.chain.final.Number()) == 1 }, do)
}

// nearly does something a block before the range turns.
func (r *run) nearly(do func()) {
	r.when(func() bool { return r.committee.RangeOf(r.chain.final.Number()+1) == 1 }, do)
}

// kill ends a node, and starts it again after a while.
func (n *node) kill(wait time.Duration) {
	n.r.tell(n.name, "is killed")
	n.stay = true
	n.crash("")
	n.r.w.After(wait, func() {
		n.stay = false
		n.boot()
	})
}

// cutBoth cuts both directions between nodes, or heals them.
func (r *run) cutBoth(cut bool, a *node, others ...*node) {
	for _, b := range others {
		for _, link := range [][2]string{{a.name, b.name}, {b.name, a.name}} {
			if cut {
				r.net.Cut(link[0], link[1])
			} else {
				r.net.Heal(link[0], link[1])
			}
		}
		r.tell("the network", "between %s and %s is %s", a.name, b.name, map[bool]string{true: "cut", false: "healed"}[cut])
	}
}

func happyPath(r *run) {
	_, _, others := r.cast()
	r.wish(time.Second, others[0], "give red 5", 5)
}

// switchover: two intents are dispatched and in no block when the range turns, and one, whose sender is slow, is not
// dispatched.
func switchover(r *run) {
	old, _, others := r.cast()
	r.nearly(func() {
		r.chain.frozen = old.account
		r.wish(10*time.Millisecond, others[0], "give red 5", 5)
		r.wish(20*time.Millisecond, others[0], "give red 6", 6)
		others[1].slow = 400 * time.Millisecond
		r.wish(30*time.Millisecond, others[1], "move red blue 11", 0)
	})
	r.turns(func() {
		others[1].slow = 0
		r.w.After(1500*time.Millisecond, func() { r.chain.frozen = "" })
	})
}

func senderBehind(r *run) {
	_, _, others := r.cast()
	others[0].lag = 3500 * time.Millisecond
	r.turns(func() { r.wish(100*time.Millisecond, others[0], "give red 5", 5) })
}

// oldBehind: the old coordinator lacks endorsements until the intent has moved, and asks for the grant after that.
func oldBehind(r *run) {
	old, next, others := r.cast()
	old.lag = 7 * time.Second
	r.nearly(func() {
		r.cutBoth(true, old, next, others[1])
		r.wish(10*time.Millisecond, others[0], "give red 5", 5)
	})
	r.turns(func() { r.w.After(2600*time.Millisecond, func() { r.cutBoth(false, old, others[1]) }) })
}

// newBehind: the old coordinator has the intent and no endorsements for it when the range turns.
func newBehind(r *run) {
	old, next, others := r.cast()
	next.lag = 1500 * time.Millisecond
	r.nearly(func() {
		r.cutBoth(true, old, next, others[1])
		r.wish(10*time.Millisecond, others[0], "give red 5", 5)
	})
	r.turns(func() { r.cutBoth(false, old, next, others[1]) })
}

func senderFailover(r *run) {
	_, _, others := r.cast()
	own := others[0]
	r.wish(time.Second, own, "give red 5", 5)
	r.when(func() bool { return len(own.db.intents) > 0 && len(own.db.intents[0].Grants) > 0 }, func() { own.kill(time.Second) })
}

// coordinatorFailover: one intent is dispatched, and in no block yet; another one waits for its sender, which is slow.
func coordinatorFailover(r *run) {
	first, _, others := r.cast()
	r.wish(time.Second, others[0], "give red 5", 5)
	r.when(func() bool { return len(first.db.rows) > 0 }, func() {
		r.chain.frozen = first.account
		others[1].slow = 100 * time.Millisecond
		r.wish(time.Millisecond, others[1], "move red blue 5", 0)
		r.w.After(300*time.Millisecond, func() {
			others[1].slow, r.chain.frozen = 0, ""
			first.kill(3 * time.Second)
		})
	})
	r.wish(8*time.Second, others[0], "give green 1", 1)
}

// preferredReturns: the one that the ranking names is away, and all must endorse, so that nothing is dispatched until it
// is back. What its sender could not hand to it is kept for ten seconds, and no longer.
func preferredReturns(r *run) {
	first, _, others := r.cast()
	r.w.After(500*time.Millisecond, func() { first.kill(12 * time.Second) })
	r.wish(time.Second, others[0], "give red 5", 5)
}

// neverLands: the coordinator lives and its transactions do not land. When they do, the first one comes too late.
func neverLands(r *run) {
	first, _, others := r.cast()
	r.chain.frozen = first.account
	r.wish(time.Second, others[0], "give red 5", 5)
	r.when(func() bool { return r.chain.head.Number() > r.contract.Life }, func() { r.chain.frozen = "" })
}

// parted: the named node and one other are cut off from three. Users of both sides spend the same states.
func parted(r *run) {
	first, _, _ := r.cast()
	with := r.byAccount[ledger.Account(r.committee.Order(0)[4])]
	var far []*node
	for _, n := range r.nodes {
		if n != first && n != with {
			far = append(far, n)
		}
	}
	r.wish(time.Second, with, "give red 5", 5)
	r.w.After(4*time.Second, func() {
		r.cutBoth(true, first, far...)
		r.cutBoth(true, with, far...)
	})
	r.wish(5*time.Second, with, "move red blue 5", 0)
	r.wish(5*time.Second, far[0], "move red green 2", 0)
	r.w.After(9*time.Second, func() {
		r.cutBoth(false, first, far...)
		r.cutBoth(false, with, far...)
	})
	r.wish(14*time.Second, far[0], "give red 5", 5) // so that all can end
}

// Stories names the worlds that are told message by message.
func Stories() (names []string) {
	for _, s := range stories {
		names = append(names, s.Name)
	}
	return names
}
