package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/internal/sim/world"
)

// baseLease is the lease of an equal world.
const baseLease = time.Second

// maxViolations is where a run has shown enough.
const maxViolations = 5

// run is one election in a world.
type run struct {
	cfg      Config
	rule     *rule // broken; nil if none
	amid     *rule
	w        *world.World
	net      *world.Network
	db       *database
	nodes    []*node
	scopes   []string
	doors    map[string]*hall
	callers  map[string]*caller
	longest  time.Duration
	shortest time.Duration
	waylaid  bool          // the next mint is
	calmAt   time.Duration // when the faults ended
	quiet    bool          // no more faults
	found    []Violation
	stats    map[string]int64
	serial   int64
}

// Election runs one election and reports. The configuration must be valid.
func Election(cfg Config) Report {
	cfg = cfg.WithDefaults()
	r := newRun(cfg)
	for i := range r.nodes {
		n := r.nodes[i]
		r.w.After(r.w.Between(0, baseLease), func() {
			if n.running == nil { // the calm may have come before
				n.boot(n.name)
			}
		})
	}
	r.w.After(r.w.Between(baseLease, 2*baseLease), r.fault)
	for _, scope := range r.scopes {
		r.callers[scope].call()
		r.callers[scope].work()
	}
	lies := cfg.Steps / 3 // a lying lock begins to lie once somebody leads
	for r.w.Steps() < cfg.Steps && len(r.found) < maxViolations && r.step() {
		if r.w.Steps() == lies {
			r.breakStore()
		}
	}
	if len(r.found) == 0 {
		r.settle()
	}
	if len(r.found) == 0 && cfg.Takeover != TakeoverMixed {
		r.drill()
	}
	r.stats["virtual_ms"] = r.w.Now().Milliseconds()
	return Report{
		Seed: cfg.Seed, Nodes: cfg.Nodes, Steps: r.w.Steps(), Violations: append([]Violation{}, r.found...),
		Stats: r.stats, Trace: fmt.Sprintf("%016x", r.w.Hash()),
	}
}

func newRun(cfg Config) *run {
	w := world.New(cfg.Seed, cfg.Trace)
	r := &run{cfg: cfg, w: w, doors: map[string]*hall{}, callers: map[string]*caller{}, stats: map[string]int64{}, longest: baseLease, shortest: baseLease}
	if r.rule = findRule(cfg.Break); r.rule != nil && r.rule.amid != "" {
		r.amid = findRule(r.rule.amid)
	}
	for i := range cfg.Scopes {
		scope := fmt.Sprintf("s%d", i)
		r.scopes = append(r.scopes, scope)
		r.doors[scope] = &hall{r: r, scope: scope}
		r.callers[scope] = newCaller(r, scope)
	}
	for i := range cfg.Nodes {
		r.nodes = append(r.nodes, newNode(r, i))
	}
	r.net = w.NewNetwork(baseLease)
	r.db = newDatabase(r)
	if r.rule != nil && r.rule.store != "" && r.rule.amid == "" && r.rule.Invariant != "" {
		r.db.store.Break(r.rule.store)
	}
	return r
}

// breakStore breaks the rules that are interesting only among leaders.
func (r *run) breakStore() {
	for _, b := range []*rule{r.rule, r.amid} {
		if b != nil && b.store != "" {
			r.db.store.Break(b.store)
		}
	}
}

// breaks tells whether the world is to tamper with a rule.
func (r *run) breaks(name string) bool {
	return r.rule != nil && r.rule.Name == name || r.amid != nil && r.amid.Name == name
}

// step runs one event. What holds after the event before holds until then, so
// the doors are judged over the whole interval.
func (r *run) step() bool {
	next, ok := r.w.Next()
	if !ok {
		return false
	}
	for _, scope := range r.scopes {
		r.doors[scope].judge(r.w.Now(), next)
	}
	return r.w.Step()
}

// settle ends all faults and gives the election ten leases to come to rest.
func (r *run) settle() {
	r.quiet = true
	r.calm()
	began, well := r.w.Now(), time.Duration(0)
	r.calmAt = began
	for r.w.Now()-began < 10*r.longest {
		switch more := r.step(); {
		case len(r.found) > 0:
			return
		case !more:
			r.halted()
			return
		case !r.led():
			well = 0
		case well == 0:
			well = r.w.Now()
		case r.w.Now()-well > r.longest:
			r.stats[settledAfter] = (well - began).Milliseconds()
			return
		}
	}
	if r.cfg.Takeover == TakeoverMixed {
		return
	}
	r.violated(Liveness, "ten leases after the last fault some scope does not have exactly one leader with an open act door")
}

// halted judges a world in which nothing will ever happen again. Whoever leads, bids or
// waits has a timer, in a mixed world too: so nobody may be left who campaigns.
func (r *run) halted() {
	if !r.led() {
		r.violated(Liveness, "nothing will ever happen again, and some scope that somebody campaigns for has no leader with an open act door")
	}
}

// led tells whether each scope has exactly one open act door; none, if nobody campaigns
// for it.
func (r *run) led() bool {
	for _, scope := range r.scopes {
		want := 0
		if r.wanted(scope) {
			want = 1
		}
		if r.doors[scope].openNow() != want {
			return false
		}
	}
	return true
}

func (r *run) violated(invariant, detail string) {
	same := func(v Violation) bool { return v.Invariant == invariant }
	if slices.ContainsFunc(r.found, same) {
		return // the first says it all
	}
	r.w.Note("VIOLATION", invariant+": "+detail, 0)
	r.found = append(r.found, Violation{Invariant: invariant, Step: r.w.Steps(), Replay: r.cfg.replay(), Detail: detail})
}

func (r *run) count(what string) { r.stats[what]++ }

func (r *run) least(what string, n int64) {
	if old, ok := r.stats[what]; !ok || n < old {
		r.stats[what] = n
	}
}

// mayNotMeet: two act doors must not be open at once, but those of two terms under fast,
// which lets them overlap and says so.
func (r *run) mayNotMeet(a, b *tenure) bool {
	if r.cfg.Takeover != TakeoverMixed {
		return r.cfg.Takeover != election.Fast
	}
	return a.p.set.Takeover != election.Fast || b.p.set.Takeover != election.Fast
}

// forgotten: a failover lost the older term together with the registration of its candidate,
// whose lease was longer than any other that the newer term could know of. What was promised
// holds in one history of the database.
func (r *run) forgotten(older, newer *tenure) bool {
	return older.token.Timeline < newer.token.Timeline && !r.db.store.Registered(older.key) &&
		older.p.chairs[older.token.Scope].lease > r.db.holds[newer.token.Term]
}

// mode is the takeover that the machine of a new process is told.
func (r *run) mode() election.Takeover {
	switch {
	case r.breaks("strict"):
		return election.Fast
	case r.cfg.Takeover == TakeoverMixed:
		return []election.Takeover{election.Strict, election.Fast}[r.w.Pick(2)]
	}
	return r.cfg.Takeover
}
