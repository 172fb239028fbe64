package auditor

import (
	"maps"
	"slices"
)

// Reasons are the contract's, by their numbers.
var Reasons = []string{"taken", "malformed", "not a member", "repeated", "expired", "not granted", "not endorsed", "missing"}

const (
	notMember   = 2
	repeated    = 3
	expired     = 4
	notGranted  = 5
	notEndorsed = 6
)

// The kinds of attack.
const (
	Copied    = "copied"    // the same data, from an account of the attacker
	Replayed  = "replayed"  // the same, long after the blocks that had it
	Regranted = "regranted" // the entry of another with a grant that the attacker has signed
	Stolen    = "stolen"    // what others have endorsed, as an intent of a stranger
	Moved     = "moved"     // what others have endorsed, as an intent of a member that is the attacker
	Revoked   = "revoked"   // a cancellation of another's intent that the attacker has signed
)

// refusals are the rules by which each kind of attack is to be refused. The contract looks at them in its order, so that
// what has landed meanwhile is repeated, and what comes late is expired.
var refusals = map[string][]uint64{
	Copied:    {repeated, expired, notGranted},
	Replayed:  {repeated, expired, notGranted},
	Regranted: {repeated, expired, notGranted},
	Stolen:    {notMember},
	Moved:     {expired, notEndorsed},
	Revoked:   {repeated, notGranted},
}

// attack checks that each entry of the attacker was refused, by a rule that is there against it.
func (j *judge) attack() {
	if len(j.Attack.Accounts) == 0 {
		return
	}
	a := &Attacked{Sent: maps.Clone(j.Attack.Sent), Refused: map[string]int{}}
	j.verdict.Attack = a
	ahead := map[intent]bool{} // copied, and not landed yet
	for _, e := range j.Ledger.Entries {
		in := intent{e.Owner, e.Sequence}
		kind, theirs := j.Attack.Accounts[e.Sender]
		switch {
		case !theirs:
			if e.Event == Landed && ahead[in] {
				a.Ahead++
			}
		case e.Event == Cancelled && (kind == Copied || kind == Replayed) && j.regretted(in):
			// Anybody may send what the owner has signed.
		case e.Event != Skipped:
			j.fault("%s was %s in block %d by an attacker, whose attack is of the kind %s", j.name(in), e.Event, e.Block, kind)
		case !slices.Contains(refusals[kind], e.Reason) || e.Reason >= uint64(len(Reasons)):
			j.fault("an attack of the kind %s on %s was refused in block %d by another rule, number %d", kind, j.name(in), e.Block, e.Reason)
		default:
			a.Refused[Reasons[e.Reason]]++
			ahead[in] = ahead[in] || kind == Copied
		}
	}
}

// regretted reports whether the customer of an intent may have ended it.
func (j *judge) regretted(in intent) bool {
	t, known := j.told[in]
	if q, was := j.forgotten[in]; !known && was {
		return q.Ends
	}
	return known && !j.needless(t)
}
