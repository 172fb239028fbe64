package sim

import "github.com/conchhq/conch/election/electiontest"

// The invariants.
const (
	ActDoors       = "act-doors"
	Epochs         = "epochs"
	FencedOrder    = "fenced-order"
	ReleasedHonest = "released-honest"
	Liveness       = "liveness"
	GateRule       = "gate-rule" // the real gate answers as its own rule says
	FenceHonest    = "fence-honest"
	EvictsTheOld   = "evicts-the-old"
	LockKept       = "lock-kept"
	Conduct        = "conduct"
)

// rule is a RuleInfo with what it takes to break it: the store of the mint is
// told, or the world tampers with what passes between machine, gate and mint.
// Production code has no knob for it.
type rule struct {
	RuleInfo
	store   electiontest.Rule
	unequal bool // shows only among unequal leases
	// alone: shows soonest with one node (and a second process in its name). With more it
	// can show as well, while no other node comes between: so needs does not ask for one.
	alone bool
	mixed bool // shows only where a scope's takeover changes
	// uniform: shows only where all have one takeover. In a mixed world nothing is forgotten
	// by a failover, and nobody has to lead.
	uniform bool
	scopes  int // shows only where one process can lead so many
	// amid names a rule that is broken as well, which by itself harms nothing.
	amid string
}

// Rules lists what can be broken, in the order of the rulebook. docs/ARCHITECTURE.md
// has them as a table that a test writes.
func Rules() []RuleInfo {
	var all []RuleInfo
	for _, r := range rules {
		all = append(all, r.RuleInfo)
	}
	return all
}

func findRule(name string) *rule {
	for i := range rules {
		if rules[i].Name == name {
			return &rules[i]
		}
	}
	return nil
}

func seam(name, invariant, why string) rule {
	return rule{RuleInfo: RuleInfo{Name: name, Invariant: invariant, Why: why}}
}

func stored(r electiontest.Rule, invariant, why string) rule {
	s := seam(string(r), invariant, why)
	s.store = r
	return s
}

func (r rule) byProcess() rule { r.Locks = LocksProcess; return r }

func (r rule) bySession() rule { r.Locks = LocksSession; return r }

func (r rule) byItself() rule { r.alone = true; return r }

func (r rule) among(scopes int) rule { r.scopes = scopes; return r }

func (r rule) amongUnequal() rule { r.unequal = true; return r }

func (r rule) amongMixed() rule { r.mixed = true; return r }

func (r rule) amongEqual() rule { r.uniform = true; return r }
