package txlog

// The limits of what a log takes, in bytes unless said otherwise. Every node must have the same.
const (
	MostGoal      = 64 << 10  // of a goal's body
	MostGoalID    = 128       // of a goal's id
	MostResult    = 4 << 10   // of what a goal returns: it is kept for Genesis.Retention entries
	MostFault     = 1 << 10   // of why a goal has failed
	MostSteps     = 1 << 20   // number of steps of a goal, or of a query: see Budget
	MostDiff      = 1 << 20   // of what a goal changes
	MostEffects   = 16        // number of effects of one goal
	MostEffect    = 16 << 10  // of one effect's body
	MostPending   = 1 << 10   // number of effects that wait to be performed
	MostName      = 128       // of a name: of a namespace, a machine, a member, a kind of effect
	MostMembers   = 9         // number of members
	MostRecord    = 3 << 19   // of an entry as it is stored and sent
	MostState     = 64 << 20  // of a state's snapshot: a goal that would make it larger fails
	MostRetention = 1 << 15   // entries for which results are kept
	MostSnapshot  = 256 << 20 // of a snapshot: of the largest state with the largest results and effects
)

// What a genesis says if its maker does not.
const (
	DefaultRetention = 10_000 // entries for which results are kept
	DefaultScrub     = 5_000  // entries from one scrub to the next
	DefaultLease     = 3_000  // milliseconds
	LeastLease       = 100
	MostLease        = 600_000
)
