package logworld

import (
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
)

// scene is a world with one trouble, which its plot begins.
type scene = world.Scene[Config, Plot]

// Plot makes the trouble of a scene.
type Plot = func(*run)

var scenes = []scene{
	{Name: "calm", What: "nothing happens", In: Config{Faults: 20 * time.Second}, Plot: func(*run) {}},
	{Name: "crash-received", What: "leaders die when they have received a goal", In: Config{Faults: 40 * time.Second}, Plot: traps(received)},
	{Name: "crash-executed", What: "leaders die when they have executed a goal and not proposed it", In: Config{Faults: 40 * time.Second}, Plot: traps(executed)},
	{Name: "crash-stored", What: "leaders die when they alone have stored an entry", In: Config{Faults: 40 * time.Second}, Plot: traps(stored)},
	{Name: "crash-committed", What: "leaders die when an entry is committed and nobody is answered", In: Config{Faults: 40 * time.Second}, Plot: traps(committed)},
	{Name: "cut", What: "the network is cut again and again, three nodes on one side and two on the other", In: Config{Faults: 60 * time.Second}, Plot: every(90, (*run).cutSome)},
	{Name: "cut-leader", What: "leaders are cut off and come back, while their clients ask on", In: Config{Faults: 60 * time.Second}, Plot: every(70, (*run).cutLeader)},
	{Name: "long-cut", What: "leaders are cut off with two others for longer than a goal's timeout", In: Config{Nodes: 7, Members: 5, Faults: 80 * time.Second}, Plot: longCut},
	{Name: "back-and-forth", What: "leaders are deposed, and lead again when the next one dies", In: Config{Nodes: 6, Members: 5, Clients: 8, Faults: 90 * time.Second}, Plot: backAndForth},
	{Name: "eager-leader", What: "leaders send followers what is not committed, and are cut off with them", In: Config{Nodes: 8, Members: 5, Faults: 60 * time.Second}, Plot: eagerLeader},
	{Name: "deposed", What: "leaders are heard by one other at most, and deposed, while goals of several nodes are in flight", In: Config{Nodes: 6, Members: 5, Clients: 12, Faults: 60 * time.Second}, Plot: deposed},
	{Name: "one-way", What: "leaders hear nobody, or are heard by nobody, and links work in one direction", In: Config{Faults: 60 * time.Second}, Plot: oneWays},
	{Name: "loss", What: "a fifth of the messages is lost", In: Config{Faults: 40 * time.Second}, Plot: func(r *run) { r.cfg.Loss = 20; r.fair() }},
	{Name: "stalls", What: "a fifth of the messages comes late, and holds up all after it", In: Config{Faults: 40 * time.Second}, Plot: func(r *run) { r.cfg.Loss, r.cfg.Stalls = 20, true; r.fair() }},
	{Name: "duplicates", What: "half of the messages come twice, up to three rounds apart, while leaders die", In: Config{Faults: 40 * time.Second}, Plot: duplicates},
	{Name: "flapping", What: "the suggested leader changes all the time, and leaders stand still", In: Config{Faults: 60 * time.Second}, Plot: flapping},
	{Name: "paused", What: "leaders stand still for seconds, as by SIGSTOP, and go on with their old state", In: Config{Clients: 8, Faults: 60 * time.Second}, Plot: frozen},
	{Name: "power", What: "all hosts die at one time, in the middle of goals, and start again", In: Config{Clients: 8, Faults: 60 * time.Second}, Plot: every(60, (*run).powerCut)},
	{Name: "lost-disk", What: "members lose their disks one after the other; each comes back as another member", In: Config{Faults: 80 * time.Second}, Plot: every(80, func(r *run) { r.loseDisk(r.someMember()) })},
	{Name: "lost-disk-behind", What: "of three members one is behind, one dies, and one loses its disk", In: Config{Nodes: 4, Members: 3, Clients: 6, Faults: 80 * time.Second}, Plot: lostBehind},
	{Name: "lost-majority", What: "two of three members lose their disks: the log stops, and says which command begins a new lineage", In: Config{Nodes: 5, Members: 3, Faults: 30 * time.Second}, Plot: lostMajority},
	{Name: "flipped-disk", What: "a bit flips on members' disks; each comes back as another member", In: Config{Faults: 80 * time.Second}, Plot: every(80, func(r *run) { r.damage(r.someMember()) })},
	{Name: "flipped-leader", What: "a bit flips in the memory of leaders", In: Config{Faults: 60 * time.Second}, Plot: every(60, func(r *run) { r.flip(r.leader()) })},
	{Name: "flipped-few", What: "of three members one dies, and then a bit flips in the memory of the leader: the log goes on before it is back", In: Config{Nodes: 4, Members: 3, Clients: 6, Faults: 80 * time.Second}, Plot: flippedFew},
	{Name: "flipped-member", What: "a bit flips in the memory of members and followers", In: Config{Faults: 60 * time.Second}, Plot: every(60, func(r *run) { r.flip(r.another()) })},
	{Name: "members", What: "members are added, taken away and replaced, the leader too, while leaders die", In: Config{Nodes: 8, Faults: 80 * time.Second}, Plot: changing},
	{Name: "joint", What: "all members but one at most are replaced at once, and most of the old ones die while both sets decide", In: Config{Nodes: 7, Members: 3, Faults: 80 * time.Second}, Plot: jointly},
	{Name: "joint-one", What: "the one member of a log is replaced by another one, and dies while both decide", In: Config{Nodes: 4, Members: 1, Faults: 80 * time.Second}, Plot: jointly},
	{Name: "truncation", What: "the logs of members are cut short while one is away; it comes back, and needs a snapshot", In: Config{Clients: 8, Faults: 60 * time.Second}, Plot: truncation},
	{Name: "from-nothing", What: "followers lose their disks, and begin again with nothing", In: Config{Nodes: 8, Clients: 8, Faults: 60 * time.Second}, Plot: fromNothing},
	{Name: "far-behind", What: "followers are cut off for long, and come back", In: Config{Nodes: 8, Clients: 8, Faults: 60 * time.Second}, Plot: farBehind},
	{Name: "liar", What: "a member signs heads of entries that nobody has, while leaders die", In: Config{Nodes: 7, Members: 5, Faults: 40 * time.Second}, Plot: liar},
	{Name: "one-member", What: "a log of one member, with followers, whose member dies", In: Config{Nodes: 3, Members: 1, Faults: 40 * time.Second}, Plot: every(50, func(r *run) { r.kill(r.nodes[0], true, 10*round) })},
}

// begins is when troubles begin: until then somebody leads.
const begins = 30 * round

// every has something happen again and again, so many rounds apart, as long as there are faults.
func every(rounds int, do func(*run)) func(*run) {
	return func(r *run) {
		r.w.Again(begins, func() time.Duration {
			if r.quiet {
				return 0
			}
			do(r)
			return r.w.Between(time.Duration(rounds)*round/2, time.Duration(rounds)*round*3/2)
		})
	}
}

func traps(point string) func(*run) {
	return every(40, func(r *run) {
		r.traps = append(r.traps[:0], &trap{point: point, host: r.w.Chance(0.5), wait: r.w.Between(2*round, 30*round)})
	})
}

func oneWays(r *run) {
	every(70, func(r *run) {
		if r.w.Chance(0.6) {
			r.oneWayLeader(r.w.Chance(0.5))
			return
		}
		for range len(r.nodes) {
			r.oneWay(r.some(), r.some(), r.w.Between(5*round, 60*round))
		}
	})(r)
}

func duplicates(r *run) {
	r.net.twice = 50
	every(60, func(r *run) { r.kill(r.leader(), r.w.Chance(0.5), r.w.Between(2*round, 30*round)) })(r)
}

func flapping(r *run) {
	every(60, func(r *run) {
		r.flap()
		r.stop(r.leader(), r.w.Between(4*round, 20*round))
	})(r)
}

// longCut cuts leaders off with one other member and an outsider.
func longCut(r *run) {
	every(260, func(r *run) {
		l := r.leader()
		if l == nil {
			return
		}
		few := append([]*node{l, r.other(l)}, r.outsiders()[:1]...)
		r.tell(nil, "%s, which leads, %s and %s are cut off", few[0].name, few[1].name, few[2].name)
		r.cutFor(few, r.except(few...), 200*round)
		for _, c := range r.clients[:len(r.clients)/2] {
			c.home = few[r.w.Pick(len(few))]
		}
	})(r)
}

// backAndForth has a leader cut off together with a node that reaches nobody else, and suggested again while the next one dies.
func backAndForth(r *run) {
	every(90, func(r *run) {
		l, all := r.leader(), r.outsiders()
		if l == nil || len(all) == 0 {
			return
		}
		far := all[0]
		rest := r.except(l, far)
		r.tell(l, "is cut off with %s", far.name)
		for _, c := range r.clients[:len(r.clients)/2] {
			c.home = far
		}
		r.part([]*node{l, far}, rest, 1)
		wait := r.w.Between(14*round, 22*round)
		r.flaps = r.w.Now() + wait + 40*round
		r.w.After(wait, func() { r.part([]*node{l}, rest, -1) })
		r.w.After(wait+8*round, func() {
			if next := r.leader(); next != l && !r.quiet {
				r.kill(next, r.w.Chance(0.5), 20*round)
			}
			r.suggests(l)
		})
		r.w.After(wait+40*round, func() { r.part([]*node{far}, rest, -1) })
	})(r)
}

// frozen has leaders stand still while users ask them on.
func frozen(r *run) {
	every(60, func(r *run) {
		l := r.leader()
		if l == nil {
			return
		}
		wait := r.w.Between(5*round, 40*round)
		r.stop(l, wait)
		for range 3 {
			r.w.After(r.w.Between(wait/2, wait), func() {
				for _, c := range r.clients {
					if c.now != nil && !c.now.done && r.w.Chance(0.7) {
						c.home = l
						c.try()
					}
				}
			})
		}
	})(r)
}

// eagerLeader has leaders send what is not committed, to followers that users wait at.
func eagerLeader(r *run) {
	r.eager = true
	every(50, func(r *run) {
		l := r.leader()
		if l == nil {
			return
		}
		few := append([]*node{l}, r.outsiders()...)
		r.tell(l, "is cut off with the followers")
		r.cutFor(few, r.except(few...), r.w.Between(10*round, 30*round))
		for _, c := range r.clients[:len(r.clients)/2] {
			c.home = l
		}
	})(r)
	r.w.Again(begins, func() time.Duration {
		for _, n := range r.outsiders() {
			n.put(core.Batch{core.Peers{}, core.Peers{Names: names(n.neighbours())}}) // as with new connections, it asks for news
		}
		if r.quiet {
			return 0
		}
		return 3 * round
	})
}

// lostBehind has one member miss what the others store, then one of these die and the other lose its disk.
func lostBehind(r *run) {
	every(200, func(r *run) {
		l := r.leader()
		if l == nil || len(r.members()) != 3 || !r.everyoneIsIn() {
			return
		}
		var rest []*node
		for _, m := range r.members() {
			if n := r.byName[m.Name]; n != l {
				rest = append(rest, n)
			}
		}
		behind, loser := rest[0], rest[1]
		r.tell(behind, "is cut off")
		r.part([]*node{behind}, r.except(behind), 1)
		r.w.After(20*round, func() {
			if r.spares(loser) && loser.up && l.up {
				r.kill(l, false, 60*round)
				r.loseDisk(loser)
			}
			r.part([]*node{behind}, r.except(behind), -1)
		})
	})(r)
}

// flippedFew has a leader's memory be wrong while its disk is needed.
func flippedFew(r *run) {
	every(180, func(r *run) {
		l := r.leader()
		if l == nil || !r.everyoneIsIn() {
			return
		}
		r.kill(r.other(l), r.w.Chance(0.5), 120*round)
		r.w.After(5*round, func() {
			flips, now := r.Stats["flips"], r.leader()
			if r.flip(now); r.Stats["flips"] == flips {
				return
			}
			r.w.After(75*round, func() { // by then it has given up
				acked := r.acked
				r.w.After(30*round, func() {
					r.Check(r.quiet || r.acked > acked, AllAnswered, "the memory of %s was wrong ten seconds ago, and for three seconds nothing was acknowledged", now.name)
				})
			})
		})
	})(r)
}

// another returns a node that does not lead.
func (r *run) another() *node {
	l := r.leader()
	for {
		if n := r.some(); n != l || len(r.nodes) == 1 {
			return n
		}
	}
}

func changing(r *run) {
	every(60, func(r *run) {
		r.changeMembers()
		if r.w.Chance(0.3) {
			r.kill(r.leader(), r.w.Chance(0.5), r.w.Between(2*round, 30*round))
		}
	})(r)
}

func truncation(r *run) {
	r.hurry()
	every(150, func(r *run) { r.kill(r.another(), r.w.Chance(0.5), r.w.Between(80*round, 120*round)) })(r)
}

// hurry has the clients ask without a pause.
func (r *run) hurry() {
	for _, c := range r.clients {
		c.idle = round / 2
	}
}

// outsiders are the nodes that are no members.
func (r *run) outsiders() (all []*node) {
	for _, n := range r.nodes {
		if _, is := txlog.FindMember(r.members(), n.name); !is {
			all = append(all, n)
		}
	}
	return all
}

func fromNothing(r *run) {
	r.hurry()
	every(100, func(r *run) {
		all := r.outsiders()
		n := all[r.w.Pick(len(all))]
		r.tell(n, "loses its disk")
		n.crash(true)
		n.newStore()
		n.restarts(5 * round)
	})(r)
}

func farBehind(r *run) {
	r.hurry()
	every(150, func(r *run) {
		all := r.outsiders()
		n := all[r.w.Pick(len(all))]
		r.tell(n, "is cut off")
		r.cutFor([]*node{n}, r.except(n), 100*round)
	})(r)
}

// lostMajority takes the disks of two of three members away.
func lostMajority(r *run) {
	r.stops = true
	r.w.After(100*round, func() {
		r.tell(nil, "two of three members lose their disks")
		r.stopped = r.top()
		for i, m := range r.members() {
			if n := r.byName[m.Name]; i < 2 {
				n.crash(true)
				n.lostStore(r)
				n.newStore()
				n.restarts(5 * round)
			}
		}
	})
}
