package follower

// Rule is one that a proof leaves out.
type Rule string

// The rules. Each is named as the simulator's flag names it.
const (
	CommittedOnly Rule = "committed-only" // what fits the chain is applied, whether a head covers it or not (V6)
	NeverSkip     Rule = "never-skip"     // what has not come in time is given up (B9)
	KeepEarly     Rule = "keep-early"     // what comes before its turn is dropped (V2)
	AskOthers     Rule = "ask-others"     // only the peer that told of a head is asked (B9)
	AlwaysServe   Rule = "always-serve"   // a node that waits for something serves nobody (V8)
	OwnRequest    Rule = "own-request"    // records that nobody asked for are taken
	MembersSay    Rule = "members-say"    // a head is believed without a look at its signature
	DenyLies      Rule = "deny-lies"      // a head counts, though the log is not as far
	AskToDeny     Rule = "ask-to-deny"    // a head that has not come true within a second is taken for a lie, and nobody is asked
	NeverRewind   Rule = "never-rewind"   // a head that contradicts the copy replaces it
)

// Rules returns the rules that can be left out.
func Rules() []Rule {
	return []Rule{CommittedOnly, NeverSkip, KeepEarly, AskOthers, AlwaysServe, OwnRequest, MembersSay, DenyLies, AskToDeny, NeverRewind}
}
