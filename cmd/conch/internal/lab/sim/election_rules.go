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

// rule is a RuleInfo, with how to break it and the worlds in which that shows. Production code has no
// switch for it.
type rule struct {
	RuleInfo
	store          electiontest.Rule // the store breaks it; empty: the world does
	alsoBroken     string            // a rule that is broken as well, and by itself harms nothing
	unequalLeases  bool              // shows only with unequal leases
	mixedTakeovers bool              // shows only in a world of TakeoverMixed
	scopes         int               // shows only with this number of scopes or more
	// A rule with oneNode shows soonest with one node, and a second process in its name. It can show
	// with more nodes, so needs does not ask for one.
	oneNode bool
	// A rule with oneTakeover shows only with one takeover, since in a mixed world a failover forgets
	// nothing and liveness is not required.
	oneTakeover bool
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

// inWorld returns a rule that the world breaks: it changes what passes between machine, gate and mint.
func inWorld(name, invariant, why string) rule {
	return rule{RuleInfo: RuleInfo{Name: name, Invariant: invariant, Why: why}}
}

// inStore returns a rule that the model of the mint breaks.
func inStore(broken electiontest.Rule, invariant, why string) rule {
	r := inWorld(string(broken), invariant, why)
	r.store = broken
	return r
}

func (r rule) withProcessLocks() rule { r.Locks = LocksProcess; return r }

func (r rule) withSessionLocks() rule { r.Locks = LocksSession; return r }

func (r rule) withOneNode() rule { r.oneNode = true; return r }

func (r rule) withScopes(scopes int) rule { r.scopes = scopes; return r }

func (r rule) withUnequalLeases() rule { r.unequalLeases = true; return r }

func (r rule) withMixedTakeovers() rule { r.mixedTakeovers = true; return r }

func (r rule) withOneTakeover() rule { r.oneTakeover = true; return r }
