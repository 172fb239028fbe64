package sim

import "github.com/conchhq/conch/election/electiontest"

// The invariants, explained in the package comment.
const (
	ActDoors       = "act-doors"
	Epochs         = "epochs"
	FencedOrder    = "fenced-order"
	ReleasedHonest = "released-honest"
	Liveness       = "liveness"
	GateRule       = "gate-rule"
	FenceHonest    = "fence-honest"
	EvictsTheOld   = "evicts-the-old"
	LockKept       = "lock-kept"
	Conduct        = "conduct"
)

// rule is a RuleInfo and how to break it: in the store, or where the world changes what passes
// between machine, gate and mint. Production code has no switch for it.
type rule struct {
	RuleInfo
	store   electiontest.Rule
	unequal bool // shows only with unequal leases
	// alone: shows soonest with one node (and a second process in its name). It can show with
	// more nodes too, so needs does not ask for one.
	alone bool
	mixed bool // shows only in a world of TakeoverMixed
	// uniform: shows only with one takeover, since in a mixed world a failover forgets nothing
	// and liveness is not required.
	uniform bool
	scopes  int    // shows only with this number of scopes or more
	amid    string // a rule that is broken as well, and by itself harms nothing
}

// Rules lists the rules that can be broken, in the order of the rulebook.
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
