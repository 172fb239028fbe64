package electorate

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/internal/world"
)

// baseLease is the lease in a world with equal leases.
const baseLease = time.Second

// run is one election in a world.
type run struct {
	world.Run

	cfg           Config
	alsoBroken    string // with the broken rule
	w             *world.World
	net           *world.Network
	db            *database
	nodes         []*node
	scopes        []string
	doors         map[string]*doorJudge
	callers       map[string]*caller
	longest       time.Duration
	shortest      time.Duration
	waylaid       bool          // waylay the next bid that wins
	faultsEndedAt time.Duration // when the faults ended
	quiet         bool          // no more faults
	serial        int64
}

// Run runs one election and returns its report. The configuration must be valid.
func Run(cfg Config) world.Report {
	cfg = cfg.WithDefaults()
	r := newRun(cfg)
	for i := range r.nodes {
		n := r.nodes[i]
		r.w.After(r.w.Between(0, baseLease), func() {
			if n.running == nil { // the faults may have ended before
				n.boot(n.name)
			}
		})
	}
	r.w.After(r.w.Between(baseLease, 2*baseLease), r.fault)
	for _, scope := range r.scopes {
		r.callers[scope].call()
		r.callers[scope].work()
	}
	breakAt := cfg.Steps / 3 // some rules are broken only once a process leads
	for r.w.Steps() < cfg.Steps && !r.Over() && r.step() {
		if r.w.Steps() == breakAt {
			r.breakStore()
		}
	}
	if len(r.Found) == 0 {
		r.awaitLeaders()
	}
	if len(r.Found) == 0 && cfg.Takeover != TakeoverMixed {
		r.drill()
	}
	return r.Report()
}

// Report says what came of it.
func (r *run) Report() world.Report {
	r.Stats["virtual_ms"] = r.w.Now().Milliseconds()
	return r.Run.Report()
}

func newRun(cfg Config) *run {
	all := Simulator()
	begun := all.Begin(cfg)
	w := begun.World()
	r := &run{
		Run: begun, cfg: cfg, alsoBroken: alsoBroken[cfg.Break], w: w,
		doors: map[string]*doorJudge{}, callers: map[string]*caller{}, longest: baseLease, shortest: baseLease,
	}
	for i := range cfg.Scopes {
		scope := fmt.Sprintf("s%d", i)
		r.scopes = append(r.scopes, scope)
		r.doors[scope] = &doorJudge{r: r, scope: scope}
		r.callers[scope] = newCaller(r, scope)
	}
	r.Sites = []string{"database"}
	for i := range r.Names {
		r.nodes = append(r.nodes, newNode(r, i))
	}
	r.net = w.NewNetwork(baseLease)
	r.db = newDatabase(r)
	if rule := all.Rule(cfg.Break); rule != nil && r.alsoBroken == "" && rule.Invariant != "" {
		r.db.store.Break(store.Rule(cfg.Break))
	}
	return r
}

// breakStore breaks the rules of the store, also those that show only once a process leads.
func (r *run) breakStore() {
	r.db.store.Break(store.Rule(r.cfg.Break))
	r.db.store.Break(store.Rule(r.alsoBroken))
}

// breaks reports whether a rule is broken in this run.
func (r *run) breaks(name string) bool {
	return r.cfg.Break == name || r.alsoBroken == name
}

// step judges the doors over the whole interval until the next event, since nothing changes
// before it, and runs the event.
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

// awaitLeaders ends all faults and gives the election ten leases to settle.
func (r *run) awaitLeaders() {
	r.quiet = true
	r.endFaults()
	began, well := r.w.Now(), time.Duration(0)
	r.faultsEndedAt = began
	for r.w.Now()-began < 10*r.longest {
		switch more := r.step(); {
		case len(r.Found) > 0:
			return
		case !more:
			r.halted()
			return
		case !r.led():
			well = 0
		case well == 0:
			well = r.w.Now()
		case r.w.Now()-well > r.longest:
			r.Stats[world.SettledAfter] = (well - began).Milliseconds()
			return
		}
	}
	if r.cfg.Takeover == TakeoverMixed {
		return
	}
	r.Violated(Liveness, "ten leases after the last fault a scope does not have exactly one leader with an open act door")
}

// halted judges a world without further events. A leader or candidate always has a timer, in a
// mixed world too, so each scope with a candidate must have a leader.
func (r *run) halted() {
	if !r.led() {
		r.Violated(Liveness, "no event is left, and a scope with a candidate has no leader with an open act door")
	}
}

// led reports whether each scope has exactly one open act door, or none without a candidate.
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

// Violated reports a violation: one of each invariant is enough.
func (r *run) Violated(invariant, detail string) {
	if !(world.Report{Violations: r.Found}).Has(invariant) {
		r.Run.Violated(invariant, detail)
	}
}

// places are the ends of all links.
func (r *run) places() []string { return slices.Concat([]string{databaseName}, r.Names) }

func (r *run) count(what string) { r.Stats[what]++ }

func (r *run) least(what string, n int64) {
	if old, ok := r.Stats[what]; !ok || n < old {
		r.Stats[what] = n
	}
}

// mayNotMeet reports whether two open act doors are a violation; only two under fast are not.
func (r *run) mayNotMeet(a, b *tenure) bool {
	if r.cfg.Takeover != TakeoverMixed {
		return r.cfg.Takeover != mint.Fast
	}
	return a.p.set.Takeover != mint.Fast || b.p.set.Takeover != mint.Fast
}

// forgotten reports whether a failover lost the older term and the registration of its
// candidate, whose lease is longer than the newer term's hold. The guarantee holds only within
// one history of the database.
func (r *run) forgotten(older, newer *tenure) bool {
	return older.token.Timeline < newer.token.Timeline && !r.db.store.Registered(older.key) &&
		older.p.runners[older.token.Scope].lease > r.db.holds[newer.token.Term]
}

// mode returns the takeover of a new process.
func (r *run) mode() mint.Takeover {
	switch {
	case r.breaks("strict"):
		return mint.Fast
	case r.cfg.Takeover == TakeoverMixed:
		return []mint.Takeover{mint.Strict, mint.Fast}[r.w.Pick(2)]
	}
	return r.cfg.Takeover
}
