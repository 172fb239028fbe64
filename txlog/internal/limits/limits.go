// Package limits has what a log takes at most, beside the limits of package txlog, whose page has them all. In bytes unless said otherwise. Every
// node must have the same.
package limits

const (
	MostGoalID    = 128       // of a goal's id
	MostResult    = 4 << 10   // of what a goal returns: it is kept for Genesis.Retention entries
	MostFault     = 1 << 10   // of why a goal has failed
	MostSteps     = 1 << 20   // number of steps of a goal, or of a query: see txlog.Budget
	MostDiff      = 1 << 20   // of what a goal changes
	MostEffects   = 16        // number of effects of one goal
	MostEffect    = 16 << 10  // of one effect's body
	MostPending   = 1 << 10   // number of effects that wait to be performed
	MostName      = 128       // of a name: of a namespace, a machine, a member, a kind of effect
	MostRecord    = 3 << 19   // of an entry as it is stored and sent
	MostRetention = 1 << 15   // entries for which results are kept
	MostSnapshot  = 256 << 20 // of a snapshot: of the largest state with the largest results and effects
)

// Of what a store takes.
const (
	MostValueName = 128      // of a value's name
	MostValue     = 64 << 10 // of a value
	MostValues    = 10_000   // number of values
	MostSlot      = 2 << 20  // of a slot
)
