package crowd

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/agent"
	"github.com/conchhq/conch/gossip/wire"
	"github.com/conchhq/conch/internal/world"
)

type scene = world.Scene[Config, plot]

// plot is what happens in a scene, and by what it is judged.
type plot struct {
	deposes   bool // what works may be deposed in it: each side of an open crowd names its own leader
	unsettled bool // it is measured, and nobody has to agree at its end
	boots     bool // the overlay is not there at its begin
	set       func(*run)
}

// begins is the round in which the trouble begins: until then all agree.
const begins = 40

var scenes = []scene{
	{Name: "cold", What: "everybody begins within one round, and the overlay is there", In: Config{Rounds: 60}, Plot: plot{set: cold}},
	{Name: "boot", What: "everybody starts within one round, and nobody is connected yet", In: Config{Rounds: 100}, Plot: plot{boots: true, set: boots}},
	{Name: "calm", What: "nothing happens for 1,000 rounds", In: Config{Rounds: 1000}, Plot: plot{set: cold}},
	{Name: "crash", What: "the leader dies", In: Config{Rounds: 100}, Plot: plot{set: crash(1)}},
	{Name: "crash-four", What: "the leader and the next three die at once", In: Config{Rounds: 100}, Plot: plot{set: crash(4)}},
	{Name: "half-crash", What: "half of the nodes die at once, and all contacts with them; the others stay in one piece", In: Config{Rounds: 120}, Plot: plot{set: halfCrash}},
	{Name: "isolated", What: "one node is cut off for 40 rounds, and returns", In: Config{Rounds: 150}, Plot: plot{set: isolated}},
	{Name: "minority", What: "a fiftieth of the nodes, with three of seven electors, is cut off for 60 rounds", In: Config{Nodes: 150, Electors: 7, Rounds: 180}, Plot: plot{set: minority}},
	{Name: "halves", What: "without electors two fifths of the nodes are cut off for 60 rounds: each side names its own", In: Config{Rounds: 180}, Plot: plot{deposes: true, set: halves}},
	{Name: "deaf", What: "the leader hears nobody, and is heard", In: Config{Rounds: 140}, Plot: plot{set: deaf}},
	{Name: "mute", What: "the leader hears all, and is heard by nobody", In: Config{Rounds: 140}, Plot: plot{set: mute}},
	{Name: "flapping", What: "the first of the order is mute for 30 of each 100 rounds", In: Config{Rounds: 540}, Plot: plot{set: flapping}},
	{Name: "frozen", What: "the leader is frozen for 40 rounds, and goes on with its old state", In: Config{Rounds: 160}, Plot: plot{set: frozen}},
	{Name: "sick", What: "the leader is frozen for 5 rounds and runs for 2, again and again", In: Config{Electors: 7, Rounds: 160}, Plot: plot{unsettled: true, set: sick}},
	{Name: "one-way", What: "a tenth of the links work in one direction only, for 60 rounds", In: Config{Rounds: 160}, Plot: plot{set: oneWay}},
	{Name: "withdrawn", What: "the leader's user says that it cannot work", In: Config{Electors: 7, Rounds: 100}, Plot: plot{set: withdrawn}},
	{Name: "churn", What: "one node in a hundred is replaced each round, and the leader dies", In: Config{Rounds: 200}, Plot: plot{set: churn(false)}},
	{Name: "churn-all", What: "the same, and nobody is spared", In: Config{Rounds: 300}, Plot: plot{unsettled: true, set: churn(true)}},
	{Name: "electors-die", What: "four of seven electors die with the leader, and nodes are replaced: nobody leads, and in the end nobody believes in a dead leader", In: Config{Electors: 7, Rounds: 300}, Plot: plot{unsettled: true, set: electorsDie}},
	{Name: "forger", What: "the leader dies, and a faulty node goes on to make heartbeats of it", In: Config{Rounds: 120}, Plot: plot{set: forger}},
	{Name: "runaway", What: "a node that is no elector claims the largest reign", In: Config{Electors: 7, Rounds: 120}, Plot: plot{set: runaway}},
	{Name: "replay", What: "the leader dies, all others start again, one after another, and then a faulty node brings what the dead one has said again, as if it were new", In: Config{Electors: 7, Rounds: 420}, Plot: plot{set: replay(oneByOne)}},
	{Name: "replay-reboot", What: "the same, but the others die and start at one time, so that reigns begin at 1 again", In: Config{Electors: 7, Rounds: 260}, Plot: plot{set: replay(atOnce)}},
	{Name: "replay-nobody", What: "four of seven electors die, and a faulty node brings old words of the last leader, long after that: nobody believes them", In: Config{Electors: 7, Rounds: 1100}, Plot: plot{unsettled: true, set: replay(forgotten)}},
	{Name: "news", What: "twenty pieces of news, each from another node; some nodes forget them, by their clocks, while others still tell them", In: Config{Rounds: 1000}, Plot: plot{set: news}},
}

func cold(*run) {}

// then does something to the leader once all agree, and measures how long they take to agree again.
func (r *run) then(do func(leader *node)) {
	r.at(begins, func() {
		l := r.leader()
		if r.Check(l != nil && r.agreed, Agreement, "nobody leads in round %d", begins) {
			do(l)
			r.asks()
		}
	})
}

// within wants agreement some rounds from now.
func (r *run) within(rounds float64, why string) {
	r.w.After(time.Duration(rounds*float64(round)), func() {
		r.Check(r.agreed, Agreement, "%s, and after %.0f rounds %s", why, rounds, r.split())
	})
}

// recovery is how many rounds a new leader may take: 2 × diameter and four.
func (r *run) recovery() float64 { return float64(2*r.cfg.Diameter + 4) }

func crash(count int) func(*run) {
	return func(r *run) {
		r.then(func(l *node) {
			for _, n := range r.firsts(l, count) {
				r.crash(n)
			}
		})
	}
}

// boots wants the overlay to be in one piece within a minute.
func boots(r *run) { r.whole(heals * r.second) }

// halfCrash has half of the nodes die, the contacts first.
func halfCrash(r *run) {
	r.then(func(*node) {
		left := len(r.nodes) / 2
		for _, n := range slices.Concat(r.contacts, r.some(len(r.nodes))) {
			if left > 0 && n.up && !n.elector {
				r.crash(n)
				left--
			}
		}
		r.whole(60 * r.second)
	})
}

// firsts returns a leader and those that come after it in the order.
func (r *run) firsts(l *node, count int) []*node {
	all := []*node{l}
	for _, k := range l.status().Namespaces[0].Known {
		if n := r.bySubject[k.Subject]; len(all) < count && n != l {
			all = append(all, n)
		}
	}
	return all
}

func (r *run) another(l *node) *node {
	for {
		if n := r.nodes[r.w.Pick(len(r.nodes))]; n != l {
			return n
		}
	}
}

func isolated(r *run) {
	r.then(func(l *node) {
		n := r.another(l)
		r.tell(n, "is cut off")
		r.apart(n, 1)
		r.w.After(40*round, func() {
			r.tell(n, "is no longer cut off")
			r.apart(n, 0)
			r.asks()
			r.within(r.recovery(), "one has returned")
		})
	})
}

func minority(r *run) {
	r.then(func(l *node) {
		var cut []*node
		for _, n := range r.nodes {
			if n != l && n.elector && len(cut) < 3 {
				cut = append(cut, n)
			}
		}
		r.part(cut, 60*round)
	})
}

func halves(r *run) {
	r.then(func(*node) { r.part(r.some(len(r.nodes)*2/5), 60*round) })
}

func deaf(r *run) {
	r.then(func(l *node) {
		r.deafen(l, true)
		r.within(2*r.recovery()+6, "the leader is deaf")
	})
}

func mute(r *run) {
	r.then(func(l *node) {
		r.silence(l, true)
		r.within(r.recovery(), "the leader is mute")
	})
}

func flapping(r *run) {
	r.then(func(l *node) {
		r.w.Again(0, func() time.Duration {
			r.silence(l, true)
			r.w.After(30*round, func() { r.silence(l, false) })
			return 100 * round
		})
	})
}

func frozen(r *run) {
	r.then(func(l *node) {
		r.pause(l, true)
		r.w.After(40*round, func() {
			r.pause(l, false)
			r.within(4, "the old leader is back")
		})
	})
}

// sick has the leader stand still, and wake for too short a time to be of use.
func sick(r *run) {
	r.then(func(l *node) {
		r.w.Again(0, func() time.Duration {
			r.pause(l, true)
			r.w.After(5*round, func() { r.pause(l, false) })
			return 7 * round
		})
		r.w.After(30*round, func() { r.replaced(l, 80) })
	})
}

// replaced wants another one to lead, for so many rounds from now on.
func (r *run) replaced(l *node, rounds int) {
	now := r.leader()
	if r.Check(now != nil && now != l && 2*r.counts[now.subject] > r.active, Agreement, "%s is sick, and nobody leads in its place", l.name) && rounds > 0 {
		r.w.After(round, func() { r.replaced(l, rounds-1) })
	}
}

func oneWay(r *run) {
	r.then(func(*node) {
		r.cutOneWay(60 * round)
		r.w.After(80*round, func() { r.asks(); r.within(2, "all links work again") })
	})
}

func withdrawn(r *run) {
	r.then(func(l *node) {
		r.withdraw(l)
		r.within(4, "the leader has withdrawn")
		r.w.After(4*round, func() {
			r.Check(!l.believes.Self, Agreement, "%s has withdrawn, and leads", l.name)
		})
	})
}

// churn replaces one node in a hundred each round, for so many rounds.
func (r *run) churn(spared []*node, lasts float64) {
	end := r.w.Now() + time.Duration(lasts*float64(round))
	r.w.Again(0, func() time.Duration {
		n := r.nodes[r.w.Pick(len(r.nodes))]
		if n.up && !slices.Contains(spared, n) {
			r.crash(n)
			r.w.After(4*round, func() { r.restart(n) })
		}
		if r.w.Now() >= end {
			return 0
		}
		return round * 100 / time.Duration(len(r.nodes))
	})
}

// lapsed wants that after some time nobody believes in a dead leader.
func (r *run) lapsed(l *node, wait time.Duration) {
	r.w.After(wait, func() {
		r.Check(r.counts[l.subject] == 0, Agreement, "%d of %d nodes believe in a leader that died %.0f rounds ago", r.counts[l.subject], r.active, rounds(wait))
	})
}

func churn(all bool) func(*run) {
	return func(r *run) {
		r.then(func(l *node) {
			spared := r.firsts(l, 4)
			if all {
				spared = nil
			}
			r.churn(spared, 100)
			if all {
				return
			}
			r.w.After(20*round, func() {
				r.crash(l)
				r.lapsed(l, r.valid()+8*round)
				r.lapsed(l, 40*round)
			})
		})
	}
}

func electorsDie(r *run) {
	r.then(func(l *node) {
		var spared []*node
		for _, n := range r.nodes {
			if n.elector {
				spared = append(spared, n)
			}
		}
		dead := 1
		r.crash(l)
		for _, n := range spared {
			if n != l && dead < 4 {
				r.crash(n)
				dead++
			}
		}
		r.churn(spared, 240)
		r.lapsed(l, 10*r.valid()+20*round) // the crowd has ten rounds between two beats
		r.lapsed(l, 220*round)
	})
}

// forger has a node make new heartbeats of a dead leader, signed by itself.
func forger(r *run) {
	r.then(func(l *node) {
		beat := wire.Heartbeat{Reign: l.believes.Reign, Leads: true, Stands: true, Wide: true, Host: l.name}
		r.crash(l)
		r.lies(r.another(l), l, beat)
		r.within(r.recovery(), "a dead leader's heartbeats were forged")
		r.w.After(30*round, func() {
			r.Check(len(r.refusals[gossip.ErrSignature]) > 0, BadRefused, "nobody refused a forged heartbeat")
		})
	})
}

// runaway has a node that is no elector claim the largest reign.
func runaway(r *run) {
	r.then(func(*node) {
		bad := r.nodes[len(r.nodes)-1]
		r.lies(bad, bad, wire.Heartbeat{Reign: wire.MostReign, Leads: true, Stands: true, Wide: true, Host: bad.name})
		r.w.After(20*round, func() {
			r.Check(len(r.refusals[gossip.ErrElector]) > 0, BadRefused, "nobody refused a stranger's claim")
			r.Check(r.counts[bad.subject] == 0, BadRefused, "%d of %d nodes follow a node that is no elector", r.counts[bad.subject], r.active)
		})
	})
}

// lies has a node say a heartbeat of somebody in each round, to all its peers, with its own signature.
func (r *run) lies(bad, of *node, beat wire.Heartbeat) {
	s := wire.Said{Statement: wire.Statement{Subject: of.subject, Incarnation: uint64(of.lives), Sequence: 1 << 40, Namespace: namespace, Body: beat.Body()}}
	r.w.Again(0, func() time.Duration {
		if r.quiet {
			return 0
		}
		s.Sequence++
		s.Signature = sign(bad.subject, s.Signed())
		for _, e := range bad.ends {
			r.says(bad, e.to.name, s)
		}
		return round
	})
}

// news has nodes publish.
func news(r *run) {
	r.then(func(*node) {
		for i := range 20 {
			n := r.nodes[r.w.Pick(len(r.nodes))]
			topic := fmt.Sprint("topic ", i)
			r.w.After(time.Duration(i)*round, func() {
				r.news[topic] = r.w.Now()
				n.step(agent.Publish{Namespace: namespace, Topic: topic, Body: []byte("hello")})
			})
		}
		r.w.After(75*round, func() {
			wanted := int64(20 * (len(r.nodes) - 1))
			r.Check(r.Stats["news_heard"] == wanted, AllHear, "news was heard %d times, want %d", r.Stats["news_heard"], wanted)
		})
	})
}
