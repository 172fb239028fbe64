package quorum

// Rule is one that a proof leaves out.
type Rule string

// The rules. Each is named as the simulator's flag names it.
const (
	NoForward Rule = "no-forward" // a follower passes on what is appended to it, as the library does by itself
	Hold      Rule = "hold"       // a new leader's act door opens at once
)

// Rules returns the rules that can be left out.
func Rules() []Rule { return []Rule{NoForward, Hold} }
