package txlog

// Limits of what a log takes, in bytes unless said otherwise. Every node must have the same.
const (
	MostGoal    = 64 << 10 // of a goal's body
	MostMembers = 9        // number of members
	MostState   = 64 << 20 // of a state's snapshot: a goal that would make it larger fails
)

// What a genesis says if its maker does not, and between what its lease is, in milliseconds.
const (
	DefaultRetention = 10_000 // entries for which results are kept
	LeastLease       = 100
	MostLease        = 600_000

	defaultScrub = 5_000 // entries from one scrub to the next
	defaultLease = 3_000
)
