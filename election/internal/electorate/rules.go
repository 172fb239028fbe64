package electorate

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
