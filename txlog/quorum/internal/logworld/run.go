package logworld

import (
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/txlog"
)

const (
	// settles is within how long after the faults every goal is answered and all copies are equal.
	settles = 60 * time.Second
	// skew is how wrong clocks are at most, in parts of a million.
	skew = 20_000
)

// run is one log in its world.
type run struct {
	world.Run

	cfg     Config // as it is now
	machine Machine
	scene   *scene // nil: every fault
	w       *world.World
	net     network
	genesis txlog.Genesis
	id      txlog.ID
	nodes   []*node
	byName  map[string]*node
	clients []*client
	traps   []*trap
	liar    string // signs heads of what nobody has
	eager   bool   // leaders send followers what is not committed
	quiet   bool   // the faults are over
	over    bool   // clients ask for nothing new

	judge
	suggested     *node          // who should lead
	flaps         time.Duration  // until when that changes all the time
	changes       time.Duration  // until when a change of members is waited for
	joint         bool           // two sets of members decide
	wantedMembers []txlog.Member // that a leader was asked for since the last change
	marked        uint64         // the authority's newest entry that somebody knows to be committed
	middle        func()         // happens in the middle of a change of members, at one of the signs of it
	signs         int
	lostStores    []uint64
	stops         bool   // in the end the log cannot go on
	asks          []*ask // that have ended
}

// Run runs a log and returns its report. The configuration must be valid.
func Run(cfg Config) world.Report { return play(cfg).Report() }

func play(cfg Config) *run {
	r := newRun(cfg.WithDefaults())
	r.begin()
	end := r.cfg.Faults
	if r.scene != nil {
		r.scene.Plot(r)
	} else if !r.cfg.Calm {
		r.faults()
	}
	r.w.After(end, r.calm)
	r.Until(end+settles, func() bool { return r.over && r.settled() })
	if !r.Over() {
		r.conclude()
	}
	return r
}

// Report says what came of it.
func (r *run) Report() world.Report {
	r.Stats["virtual_ms"] = r.w.Now().Milliseconds()
	return r.Run.Report()
}

// figures are in each report, also where they are 0.
var figures = [...]string{
	"acknowledged", "crashes", "doors", "effects", "entries", "faulty_goals", "goals", "heads", "leaders", "messages", "quarantines",
	"reads", "rebuilds", "repeated", "retries", "snapshots", "timeouts",
}

func newRun(cfg Config) *run {
	all := Simulator()
	begun := all.Begin(cfg)
	w := begun.World()
	r := &run{
		Run: begun, cfg: cfg, scene: all.Scene(cfg.Scene), w: w, byName: map[string]*node{},
		net: network{cut: map[way]int{}, stream: map[way]*world.Stream{}, loss: cfg.Loss, stalls: cfg.Stalls},
	}
	r.Say = r.say
	for _, name := range figures {
		r.Stats[name] = 0
	}
	r.machine, _ = cfg.machine()
	for i, name := range r.Names {
		n := &node{r: r, index: i, name: name, key: keyOf(w.Draw())}
		n.clock = w.NewClock(int64(w.Between(time.Hour, 20*time.Hour)), int64(w.Pick(2*skew+1)-skew))
		r.nodes, r.byName[n.name] = append(r.nodes, n), n
	}
	r.genesis = r.makeGenesis()
	r.id, r.judge = r.genesis.ID(), newJudge(r.genesis, r.machine.New)
	for _, n := range r.nodes {
		n.disk = newDisk(r.storeOf(n), r.genesis)
	}
	return r
}

// keyOf makes the key with which a node signs heads.
func keyOf(seed uint64) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(binary.BigEndian.AppendUint64(make([]byte, ed25519.SeedSize-8), seed))
}

// makeGenesis names the first nodes as members, in the order of their names.
func (r *run) makeGenesis() txlog.Genesis {
	g := txlog.Genesis{Namespace: "site", Machine: r.machine.Genesis, LeaseMS: lease, Retention: retention, Scrub: scrubEvery, Nonce: txlog.Hash{byte(r.cfg.Seed)}}
	for _, n := range r.nodes[:r.cfg.Members] {
		g.Members = append(g.Members, txlog.Member{Name: n.name, Key: fingerprint(n.key), Store: r.w.Draw()>>1 | 1})
	}
	return g.With()
}

func fingerprint(key ed25519.PrivateKey) txlog.Hash {
	public, _ := key.Public().(ed25519.PublicKey)
	return txlog.Fingerprint(public)
}

// storeOf is the id of a node's first store.
func (r *run) storeOf(n *node) uint64 {
	if m, is := txlog.FindMember(r.genesis.Members, n.name); is {
		return m.Store
	}
	return r.w.Draw()>>1 | 1
}

const (
	lease      = 1000 // milliseconds
	retention  = 2000 // entries
	scrubEvery = 40   // entries
)

// begin starts all nodes within a round, and then the clients.
func (r *run) begin() {
	for _, n := range r.nodes {
		r.w.After(r.w.Between(0, round), n.boot)
	}
	for i := range r.cfg.Clients {
		c := &client{r: r, name: fmt.Sprintf("c%d", i+1), home: r.nodes[i%len(r.nodes)]}
		r.clients = append(r.clients, c)
		if c.told = r.scene != nil && r.scene.Story; !c.told {
			r.w.After(r.w.Between(0, 5*round), c.next)
		}
	}
	r.gossips()
}

// tell writes a line of the story.
func (r *run) tell(n *node, text string, args ...any) {
	name := "the world"
	if n != nil {
		name = n.name
	}
	r.say(name, fmt.Sprintf(text, args...))
}

func (r *run) say(name, what string) {
	r.Tell(r.w.Now(), name, what)
}

func (r *run) broken(rule string) bool { return r.cfg.Break == rule }
