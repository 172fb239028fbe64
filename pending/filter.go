package pending

import "github.com/conchhq/conch/chain"

// Filter selects the intents to list. An empty field selects all.
type Filter struct {
	Account  chain.Account
	State    string // the word of a [Status]
	Standing string // one of [Standings]
	Most     int    // the number of intents; here 0 selects none
	Bytes    int    // the list ends before the data of its calls would exceed this total
}

// Queued is the standing of an intent that waits for a slot.
const Queued = "queued"

// Standing returns one word: queued, open (it has a slot), done, cancelled or rejected.
func (r Record) Standing() string {
	if r.Fate == Open && r.Index == nil {
		return Queued
	}
	return r.Fate.String()
}

// Standings returns the words of [Record.Standing]. An intent whose fate is [Again] is queued.
func Standings() []string {
	return []string{Queued, Open.String(), Done.String(), Cancelled.String(), Rejected.String()}
}

// Outcome returns one of [Outcomes], or an empty text until the intent has ended.
func (r Record) Outcome() string {
	switch r.Fate {
	case Done:
		if r.Last.Failed {
			return Reverted
		}
		return succeeded
	case Cancelled, Rejected:
		return r.Fate.String()
	case Open, Again:
	}
	return ""
}

// Reverted is the outcome of an intent that is [Done], and whose transaction had no effect.
const (
	succeeded = "succeeded"
	Reverted  = "reverted"
)

// Outcomes returns the words of [Record.Outcome]. No intent is expired yet: none has a deadline.
func Outcomes() []string {
	return []string{succeeded, Reverted, Cancelled.String(), Rejected.String(), "expired"}
}

func (f Filter) takes(r *Record) bool {
	return (f.Account == "" || f.Account == r.Account) &&
		(f.State == "" || r.Index != nil && f.State == r.Last.Status.String()) &&
		(f.Standing == "" || f.Standing == r.Standing())
}

// Count is the number of an account's unfinished intents in one state.
type Count struct {
	Account chain.Account
	State   string // Queued, or the word of a [Status]
	N       int
}
