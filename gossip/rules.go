package gossip

// Rule is one that a proof leaves out.
type Rule string

// The rules. Each is named as the simulator's flag names it.
const (
	OwnSignature    Rule = "own-signature"    // signatures are not looked at
	NoWallClock     Rule = "no-wall-clock"    // a heartbeat has its subject's clock, and the reader compares it with its own
	FirstCopy       Rule = "first-copy"       // a younger copy of a known heartbeat makes it younger
	AgeTravels      Rule = "age-travels"      // a relay says nothing of the age
	ClaimIsSaid     Rule = "claim-is-said"    // the first in the order is believed to lead, whatever it says
	ListenFirst     Rule = "listen-first"     // a newcomer does not listen, and a node that hears nobody raises a reign
	ElectorMajority Rule = "elector-majority" // an elector raises a reign if it hears any other one
	StepDown        Rule = "step-down"        // a leader goes on whatever it hears and its user says
	ElectorsOnly    Rule = "electors-only"    // anybody may claim to lead
	AmongElectors   Rule = "among-electors"   // an elector believes what the crowd brings of one that it has not met
	OldIsOld        Rule = "old-is-old"       // an elector that was not heard for twelve validities is forgotten
)

// Rules returns the rules that can be left out.
func Rules() []Rule {
	return []Rule{OwnSignature, NoWallClock, FirstCopy, AgeTravels, ClaimIsSaid, ListenFirst, ElectorMajority, StepDown, ElectorsOnly, AmongElectors, OldIsOld}
}
