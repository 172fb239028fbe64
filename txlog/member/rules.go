package member

// Rule is one that a proof leaves out.
type Rule string

// The rules. Each is named as the simulator's flag names it.
const (
	Opening           Rule = "opening"             // a new leader executes at once, on what it has applied
	DropSpeculation   Rule = "drop-speculation"    // what a leader executed before it was deposed, it proposes when it leads again
	DedupeInFlight    Rule = "dedupe-in-flight"    // a goal's id is looked up among committed entries only
	LookBeforeStoring Rule = "look-before-storing" // a member stores whatever a leader sends
)

// Rules returns the rules that can be left out.
func Rules() []Rule { return []Rule{Opening, DropSpeculation, DedupeInFlight, LookBeforeStoring} }
