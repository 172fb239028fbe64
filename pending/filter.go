package pending

import "github.com/conchhq/conch/chain"

// Filter says which intents to list. What is empty does not matter.
type Filter struct {
	Account  chain.Account
	State    string // a word of S26, of the slot's transaction
	Standing string // see Record.Standing
	Most     int
	Bytes    int // the list ends where its calls have more data than that
}

// Queued is the standing of an intent that waits for a slot; all others have the
// word of their fate.
const Queued = "queued"

// Standing says in one word where an intent is: queued, open (it has a slot), done,
// cancelled or rejected.
func (r Record) Standing() string {
	if r.Fate == Open && r.Index == nil {
		return Queued
	}
	return r.Fate.String()
}

// Standings are the words of Record.Standing. [Again] is none of them: an intent that gets
// another slot is queued until then.
func Standings() []string {
	return []string{Queued, Open.String(), Done.String(), Cancelled.String(), Rejected.String()}
}

func (f Filter) takes(r *Record) bool {
	return (f.Account == "" || f.Account == r.Account) &&
		(f.State == "" || r.Index != nil && f.State == r.Last.Status.String()) &&
		(f.Standing == "" || f.Standing == r.Standing())
}

// Count is how many transactions of an account are in a state: a word of S26 that
// is not terminal, or queued.
type Count struct {
	Account chain.Account
	State   string
	N       int
}
