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
	// amid names a rule that is broken as well, which by itself harms nothing.
	amid string
}

// Rules lists what can be broken, in the order of DESIGN §3.
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

func (r rule) byItself() rule { r.alone = true; return r }

func (r rule) amongUnequal() rule { r.unequal = true; return r }

func (r rule) amongMixed() rule { r.mixed = true; return r }

func (r rule) amongEqual() rule { r.uniform = true; return r }

var rules = []rule{
	// The row and the lock.
	{
		RuleInfo: RuleInfo{
			Name:      string(electiontest.TermInPredicate),
			Why:       "a heartbeat that renews a name instead of a term lets two processes of one name lead",
			Invariant: ActDoors, Locks: LocksSession,
		},
		store: electiontest.TermInPredicate, alone: true, amid: string(electiontest.LockExcludes),
	},
	stored(electiontest.LockExcludes, "", "a lock that lies is harmless: the row is the truth, the lock only says when to try"),
	// The process and its tombstone.
	stored(electiontest.ProcessKeyChecked, Liveness, "with a process key that nobody asks for, leaders chase each other away; it only says when to try, so no more than that").byProcess().amongEqual(),
	stored(electiontest.ProcessKeyRechecked, ActDoors, "who saw a process end and then takes the row of another buries the wrong one").byProcess(),
	stored(electiontest.Tombstone, ActDoors, "one heartbeat for all terms goes on although one of them was taken").byProcess(),
	stored(electiontest.AdvanceTombstones, ActDoors, "one heartbeat for all terms goes on although one of them was advanced").byProcess(),
	stored(electiontest.LateFarewellBuries, "", "a machine asks nothing of a session that it has lost; TestConformance/process/LateFarewell does"),
	stored(electiontest.TermsRemembered, "", "a machine asks for the terms that it has; TestConformance/RebidOfTheHolder asks for others"),
	seam("server-lease", Liveness, "a holder cut off from a server that counts no lease keeps its lock for ever").amongEqual(),
	seam("connect-again", Liveness, "who has lost its session and does not see to another never leads again").byItself(),
	// The gate.
	seam("anchor-on-send", ActDoors, "a deadline that counts from a late reply outlives the lease"),
	seam("compare-at-use", ActDoors, "a flag that somebody must clear stays up while that somebody is stopped"),
	seam("boottime", ActDoors, "a clock that stands still in suspend makes the deadline wait for the sleeper"),
	seam("margin", ActDoors, "clocks do not run at one speed"),
	seam("act-max", ActDoors, "an act that was let in without asking how long it takes runs past the deadline"),
	seam("honest-max", ActDoors, "an act that takes longer than it said runs past the deadline"),
	// Takeover.
	seam("strict", ActDoors, "fast opens both doors at once, and overlaps; it is offered as a mode that says so").amongEqual(),
	seam("hold-from-reply", ActDoors, "a hold that counts from the bid's sending is over before the predecessor is"),
	seam("no-server-clock", ActDoors, "a hold computed from the server's timestamps is as wrong as a step of its clock"),
	stored(electiontest.HoldWaits, ActDoors, "a successor that does not wait meets a predecessor that does not know yet"),
	stored(electiontest.HoldStored, ActDoors, "with A → B → C inside one lease, C must wait for A, of which only B knew").amongUnequal(),
	stored(electiontest.HoldOwnLease, ActDoors, "who waited for nobody must be waited for nevertheless").amongUnequal(),
	seam("settle-after-entry", ActDoors, "a hold lowered before the act door is open forgets the predecessor").amongUnequal(),
	// Release.
	seam("released-only-when-entered", ActDoors, "who releases inside its own hold promises for a predecessor that may still act"),
	seam("released-only-when-drained", ReleasedHonest, "a drain that timed out has acts under way"),
	seam("shut-before-release", ReleasedHonest, "a release before the acts have ended invites the successor among them"),
	seam("gate-before-role", ReleasedHonest, "a release before the gate is shut leaves two gates open"),
	seam("fast-waits-to-promise", ActDoors, "a fast leader that settles or releases while its predecessor may act has a strict successor act beside that one").amongMixed(),
	// Failover.
	stored(electiontest.ReleaseInHistory, ActDoors, "a release that a failover brought back was not the last word").amongEqual(),
	stored(electiontest.EpochJumps, Epochs, "a lagging standby hands out lost epochs again").amongEqual(),
	stored(electiontest.LeasesRegistered, ActDoors, "a lost term may have had a longer lease than the row that survived").amongUnequal().amongEqual(),
	// The fence.
	stored(electiontest.FenceLocks, FencedOrder, "a transaction past its check commits after the successor's"),
	stored(electiontest.AdvanceWaits, FencedOrder, "a transaction past its check commits after an operator has made its token stale"),
	seam("fence-checks", FencedOrder, "a write that asks nobody comes whenever it wakes"),
}
