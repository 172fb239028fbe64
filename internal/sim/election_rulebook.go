package sim

import "github.com/conchhq/conch/election/electiontest"

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
	seam("mint-anchored-on-send", ActDoors, "so does the first deadline of a term, counted from a late answer to its bid"),
	seam("compare-at-use", ActDoors, "a flag that somebody must clear stays up while that somebody is stopped"),
	seam("boottime", ActDoors, "a clock that stands still in suspend makes the deadline wait for the sleeper"),
	seam("margin", ActDoors, "clocks do not run at one speed"),
	seam("act-max", ActDoors, "an act that was let in without asking how long it takes runs past the deadline"),
	seam("honest-max", ActDoors, "an act that takes longer than it said runs past the deadline"),
	seam("count-then-check", ActDoors, "an act that is let in before it is counted begins after somebody has counted none"),
	// Callers outside.
	seam("answers-waited", ActDoors, "callers act on what they were told until it ends, so a successor must come after that"),
	seam("remember-then-look", ActDoors, "an answer that is remembered after the look is missed by a drain that shuts the gate between the two"),
	seam("answer-within-deadline", ActDoors, "an answer outlives the process that gave it, and nobody else can wait for it"),
	seam("promise-not-forgotten", ReleasedHonest, "what callers were told stands, although the gate was shut meanwhile"),
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
	seam("deposed-promises-nothing", Conduct, "who was told of a successor knows nothing any more of how its term ended; the mint would not believe it, and must not be all that stands between").bySession(),
	seam("given-up-for-good", Conduct, "a term that was given up, or lost with its session, gets no more time; the mint would say so, once somebody else has it"),
	seam("fast-waits-to-promise", ActDoors, "a fast leader that settles or releases while its predecessor may act has a strict successor act beside that one").amongMixed(),
	seam("farewell-waits-for-nobody", Liveness, "a farewell that waits for a locked row keeps its session from renewing all other scopes").among(2).amongEqual(),
	seam("shares-for-an-instant", Liveness, "fences that share the row until they commit keep a farewell from it for as long as they come").amongEqual(),
	seam("splits-farewells", Liveness, "one farewell that cannot be said keeps all others of its process from being said").amongEqual(),
	{
		RuleInfo: RuleInfo{
			Name:      string(electiontest.FarewellUnlocksOwn),
			Why:       "a farewell that was not heard, and is said after its process has won anew, frees the lock of the new term",
			Invariant: LockKept, Locks: LocksSession,
		},
		store: electiontest.FarewellUnlocksOwn, amid: "win-drops-farewell",
	},
	seam("win-drops-farewell", "", "the mint knows which term a farewell is about; to say it after a win is only no use"),
	// Failover.
	stored(electiontest.ReleaseInHistory, ActDoors, "a release that a failover brought back was not the last word").amongEqual(),
	stored(electiontest.EpochJumps, Epochs, "a lagging standby hands out lost epochs again").amongEqual(),
	stored(electiontest.LeasesRegistered, ActDoors, "a lost term may have had a longer lease than the row that survived").amongUnequal().amongEqual(),
	// The fence.
	stored(electiontest.FenceLocks, FencedOrder, "a transaction past its check commits after the successor's"),
	stored(electiontest.AdvanceWaits, FencedOrder, "a transaction past its check commits after an operator has made its token stale"),
	stored(electiontest.StaleForCertain, FenceHonest, "a fence that takes its old snapshot for the present refuses who leads"),
	stored(electiontest.EvictsTheOld, EvictsTheOld, "a bid that ends all that hold a fence ends those that came a moment ago").byItself(),
	stored(electiontest.DeadIsParted, Liveness, "while clients pass the fence with the token of a leader that is gone, no bid ever has it").amongEqual().byItself(),
	seam("fence-checks", FencedOrder, "a write that asks nobody comes whenever it wakes"),
}
