package committee

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

const (
	endsWithin = 3 * time.Minute // after the faults, until every intent has ended
	silentFor  = 10 * time.Second
)

// run is one committee in its world.
type run struct {
	world.Run

	cfg         Config
	broken      string
	scene       *scene // nil: every fault
	w           *world.World
	net         *world.Network
	chain       *chain
	contract    ledger.Contract
	committee   ranking.Committee
	scheme      ledger.Scheme
	signer      model.Fake
	rules       domain.Rules
	nodes       []*node
	byAccount   map[ledger.Account]*node
	rank        map[ledger.Account]int
	odds        odds
	lagged      time.Duration // the longest time that a block takes to a node
	sleepAfter  time.Duration // how long nothing happens in a contract until a node lets it sleep
	quiet       bool          // the faults are over
	calmed      time.Duration // when they were over, and each block was where it was late
	lostReturns float64       // of the messages that give work back
	words       *teller       // of a story; else nil
	busiest     *node         // that has dispatched last

	wishes      map[string]*wish
	order       []string
	byPayload   map[ledger.Hash]*wish
	granted     map[grantKey]bool
	requests    map[requestKey]request
	orders      map[orderKey]*order
	lastMessage time.Duration
	anyRestored bool
	assembled   map[ledger.Hash]ledger.Account // by whom
	inherits    map[*node]*inheritance
	handovers   map[wire.RequestID]ranking.Range // that were asked for
	fetchers    map[wire.Incarnation]ledger.Account
}

// odds is what this run's world is like.
type odds struct {
	reorganisation float64 // at each block
	cancel         float64 // of an intent, by its user
	stuck          float64 // of a transaction, for a while
	gone           float64 // of a transaction: its submitter gives it up
	commit         float64 // of a crash at a commit
	restore        float64 // of a fault that backs a database up, or restores one; 0: rarely, and once
	fails          float64 // of what a node asks of its database or its chain; 0: a kind world
}

// Run runs a committee and returns its report. The configuration must be valid.
func Run(cfg Config) world.Report {
	r := newRun(cfg.WithDefaults())
	r.begin()
	switch {
	case r.scene != nil:
		r.scene.Plot.set(r)
	case r.cfg.Calm:
		r.users()
	default:
		r.users()
		r.w.After(time.Second, r.fault)
	}
	r.until(r.cfg.Faults)
	if r.scene == nil && !r.cfg.Calm {
		r.usersGoOn()
	}
	if r.scene == nil || r.scene.Plot.goesOn > 0 {
		r.calm()
	}
	wait := endsWithin
	if r.scene != nil {
		wait = r.scene.Plot.goesOn + r.scene.Plot.ends
	}
	r.until(r.w.Now() + wait)
	r.words.flush()
	r.comeBack()
	r.wake()
	if r.scene != nil {
		r.judgeScene()
	}
	r.judgeSkips()
	r.judgeWhole()
	return r.Report()
}

// Report says what came of it.
func (r *run) Report() world.Report {
	r.Stats["virtual_ms"], r.Took = r.w.Now().Milliseconds(), r.took()
	return r.Run.Report()
}

func newRun(cfg Config) *run {
	all := Simulator()
	begun := all.Begin(cfg)
	w := begun.World()
	r := &run{
		Run: begun, cfg: cfg, broken: cfg.Break, scene: all.Scene(cfg.Scene), w: w, net: w.NewNetwork(500 * time.Millisecond),
		byAccount: map[ledger.Account]*node{}, rank: map[ledger.Account]int{}, wishes: map[string]*wish{}, byPayload: map[ledger.Hash]*wish{},
		granted: map[grantKey]bool{}, requests: map[requestKey]request{}, orders: map[orderKey]*order{},
		inherits: map[*node]*inheritance{}, handovers: map[wire.RequestID]ranking.Range{}, assembled: map[ledger.Hash]ledger.Account{}, fetchers: map[wire.Incarnation]ledger.Account{},
	}
	r.scheme, r.rules, r.sleepAfter = r.schemeOf(), r.rulesOf(), awake
	r.contract = ledger.Contract{Chain: 1, Address: "contract", Needed: cfg.Needed, Range: cfg.Range, Depth: 3, Life: 20, Domain: "tokens/1", Policy: cfg.Policy}
	if cfg.Telling.On() {
		r.scene, r.words = &scene{}, newTeller(r)
	}
	for _, name := range r.Names {
		a := ledger.Account(name)
		r.contract.Members = append(r.contract.Members, a)
		n := &node{r: r, account: a, name: name, db: newDatabase(r.contract.Address)}
		r.nodes, r.byAccount[a], r.rank[a] = append(r.nodes, n), n, int(w.Draw()>>40)
	}
	r.contract.Committee = r.contract.Members
	r.committee, _ = r.contract.Ranking() // the configuration is valid
	r.chain = newChain(r, r.contract, r.scheme)
	if cfg.Calm || r.scene != nil {
		if r.quiet = true; r.scene == nil && cfg.Seed%2 == 0 {
			r.sleepAfter = 3 * time.Second
		}
		r.net.Calm(r.Names)
		return r
	}
	r.odds = odds{reorganisation: 0.05, cancel: 0.05, stuck: 0.02, gone: 0.02, commit: 0.004, fails: 0.02}
	if shows, is := oddsOf[cfg.Break]; is {
		r.odds = shows
	}
	r.chain.demand = w.Chance(0.25)
	if w.Chance(0.75) {
		r.sleepAfter = w.Between(time.Second, 5*time.Second)
	}
	if r.odds.fails > 0 && w.Chance(0.25) {
		r.odds.fails = 0.2
	}
	if w.Chance(0.5) {
		for _, n := range r.nodes {
			n.lag = w.Between(0, 2*time.Duration(r.contract.Range)*blockTime)
			r.lagged = max(r.lagged, n.lag)
		}
	}
	return r
}

// until runs the world to an instant, or to the end of everything.
func (r *run) until(at time.Duration) {
	r.Until(at, func() bool { return r.quiet && r.settled() })
}

// settled reports whether every intent has ended and nothing is under way.
func (r *run) settled() bool {
	if r.w.Now() < r.cfg.Faults+2*time.Second || r.w.Steps()%64 != 0 {
		return false
	}
	for _, n := range r.nodes {
		if !n.up || !n.idle() {
			return false
		}
	}
	return !slices.ContainsFunc(r.order, func(k string) bool { w := r.wishes[k]; return w.accepted == 0 || !w.lost && w.result == nil })
}

// calm ends the faults.
func (r *run) calm() {
	r.quiet, r.calmed = true, r.w.Now()
	for _, n := range r.nodes {
		n.lag, n.away = 0, [3]time.Duration{}
		if !n.up {
			n.boot()
		}
		n.drain(false)
		r.calmed = max(r.calmed, n.followed)
	}
	r.net.Calm(r.Names)
	r.tell("the world", "has no more faults")
}

// wake has users look at contracts that sleep, so that the nodes know of the last block.
func (r *run) wake() {
	if r.sleepAfter == awake || len(r.Found) > 0 {
		return
	}
	for _, n := range r.nodes {
		n.look()
	}
	r.w.Until(r.w.Now() + 500*time.Millisecond)
}

// judgeSilence is I9: when nothing is in flight, nothing is sent.
func (r *run) judgeSilence() {
	begin := r.w.Now() + 5*time.Second
	r.w.Until(begin + silentFor)
	r.Check(r.lastMessage < begin, IdleIsSilent, "a message was sent %v after everything had ended", r.lastMessage-begin)
}

// users hand intents in.
func (r *run) users() {
	purses := []string{"red", "green", "blue"}
	for i := range r.cfg.Intents {
		n := r.nodes[r.w.Pick(len(r.nodes))]
		at := r.w.Between(time.Millisecond, r.cfg.Faults*9/10)
		if i < 4 {
			at = r.w.Between(time.Millisecond, time.Second)
		}
		switch p := r.w.Pick(100); {
		case i < 4 || p < 15:
			amount := uint64(5 + r.w.Pick(20))
			r.wish(at, n, fmt.Sprintf("give %s %d", purses[i%3], amount), amount)
		case p < 18:
			r.wish(at, n, "never", 0)
		case p < 21:
			r.wish(at, n, "fails", 0)
		case p < 36:
			r.wish(at, n, "look "+purses[r.w.Pick(3)], 0)
		default:
			r.wish(at, n, fmt.Sprintf("move %s %s %d", purses[r.w.Pick(3)], purses[r.w.Pick(3)], 1+r.w.Pick(5)), 0)
		}
	}
	// What was not funded is funded in the end, so that every intent can end.
	for i, purse := range purses {
		r.wish(r.cfg.Faults+time.Second, r.nodes[i%len(r.nodes)], fmt.Sprintf("give %s 1000", purse), 1000)
	}
}

// usersGoOn has users hand in a quarter as much again, within ten seconds: what the faults have left behind is still there.
func (r *run) usersGoOn() {
	purses := []string{"red", "green", "blue"}
	for range r.cfg.Intents / 4 {
		text := fmt.Sprintf("move %s %s %d", purses[r.w.Pick(3)], purses[r.w.Pick(3)], 1+r.w.Pick(5))
		r.wish(r.w.Between(time.Millisecond, 10*time.Second), r.nodes[r.w.Pick(len(r.nodes))], text, 0)
	}
}

// comeBack has users hand something in when contracts have fallen asleep, while there are faults again.
func (r *run) comeBack() {
	if r.sleepAfter == awake || r.cfg.Calm || len(r.Found) > 0 {
		return
	}
	r.w.Until(r.w.Now() + r.sleepAfter + time.Second)
	r.quiet = false
	for range 3 {
		r.wish(r.w.Between(time.Millisecond, 3*time.Second), r.nodes[r.w.Pick(len(r.nodes))], fmt.Sprintf("move red blue %d", 1+r.w.Pick(5)), 0)
	}
	r.w.After(time.Second, r.fault)
	r.w.Until(r.w.Now() + 5*time.Second)
	r.calm()
	r.until(r.w.Now() + endsWithin)
}

// ask hands an intent in, again and again until it is accepted: its key is the same.
func (r *run) ask(w *wish) {
	n := w.node
	switch {
	case w.accepted > 0:
		return
	case n.up && n.db.find(w.key) != nil: // it was stored, and the answer was lost
		w.accepted = r.w.Now()
		return
	case n.up:
		n.handIn(w)
		if r.w.Chance(r.odds.cancel) && r.w.Now() < r.cfg.Faults {
			n.later(r.w.Between(time.Millisecond, 5*time.Second), func() { n.cancel(w) })
		}
	}
	if w.asked == 0 {
		w.asked = r.w.Now()
	}
	r.w.After(r.w.Between(500*time.Millisecond, 2*time.Second), func() { r.ask(w) })
}

// forget notes what a database will no longer know.
func (r *run) forget(n *node, old *database) {
	for _, k := range r.order {
		w := r.wishes[k]
		if w.node != n {
			continue
		}
		found, is := old.keyed(w.key)
		if w.accepted > 0 && !is {
			w.lost = true
		}
		if w.result != nil && !found.Ended {
			w.result, w.lost = nil, true
		}
	}
}

// publish tells all nodes that are up what the chain did.
func (r *run) publish(in any) {
	for _, n := range r.nodes {
		if n.up && n.following > 0 {
			n.follow(in)
		}
	}
}
