package pending

import (
	"slices"
	"time"

	"github.com/conchhq/conch/chain"
)

// Filter selects the intents to list. An empty field selects all.
type Filter struct {
	Account  chain.Account
	Token    string        // by which it was accepted
	State    string        // the word of a [Status]
	Standing string        // one of [Standings]
	Key      string        // of a caller's own; no space of conch's own is looked through
	Index    *uint64       // the nonce of its slot
	Hash     chain.Hash    // of an attempt of its slot, whichever counts
	To       chain.Account // the receiver
	Since    time.Time     // accepted then or later,
	Until    time.Time     // and before that
	Below    uint64        // its Place is lower; 0: any
	Most     int           // the number of intents; here 0 selects none
	Bytes    int           // the list ends before the data of its calls would exceed this total
}

// Queued is the standing of an intent that waits for a slot.
const Queued = "queued"

// Standing returns one word: queued, open (it has a slot), done, cancelled, rejected or expired.
func (r Record) Standing() string {
	if r.Fate == Open && r.Index == nil {
		return Queued
	}
	return r.Fate.String()
}

// Standings returns the words of [Record.Standing]. An intent whose fate is [Again] is queued.
func Standings() []string {
	return []string{Queued, Open.String(), Done.String(), Cancelled.String(), Rejected.String(), Expired.String()}
}

// Outcome returns one of [Outcomes], or an empty text until the intent has ended.
func (r Record) Outcome() string { return outcome(r.Fate, r.Last.Effect) }

func outcome(f Fate, e chain.Effect) string {
	switch f {
	case Done:
		return [...]string{chain.EffectUnknown: Unknown, chain.EffectOK: Succeeded, chain.EffectFailed: Reverted, chain.EffectPartly: Partly}[e.Kind]
	case Cancelled, Rejected, Expired:
		return f.String()
	case Open, Again:
	}
	return ""
}

// Outcomes of an intent that is [Done]: its transaction had its effect, or none, or a part of it, or nobody can say any more.
const (
	Succeeded = "succeeded"
	Reverted  = "reverted"
	Partly    = "partly"
	Unknown   = "unknown"
)

// Outcomes returns the words of [Record.Outcome].
func Outcomes() []string {
	return []string{Succeeded, Reverted, Partly, Unknown, Cancelled.String(), Rejected.String(), Expired.String()}
}

// takes reports whether the filter selects an intent with these attempts.
func (f Filter) takes(r *Record, attempts []chain.Signed) bool {
	return (f.Token == "" || f.Token == r.Token) && (f.Key == "" || f.Key == r.Key && r.Space == "") &&
		(f.Index == nil || r.Index != nil && *f.Index == *r.Index) &&
		(f.Hash == "" || slices.ContainsFunc(attempts, func(a chain.Signed) bool { return a.Hash == f.Hash })) &&
		(f.To == "" || f.To == chain.Account(r.Call.To)) &&
		(f.Since.IsZero() || !r.Created.Before(f.Since)) && (f.Until.IsZero() || r.Created.Before(f.Until)) &&
		(f.Below == 0 || r.Place < f.Below) &&
		(f.Account == "" || f.Account == r.Account) &&
		(f.State == "" || r.Index != nil && f.State == r.Last.Status.String()) &&
		(f.Standing == "" || f.Standing == r.Standing())
}

// Count is the number of an account's unfinished intents in one state.
type Count struct {
	Account chain.Account
	State   string // Queued, or the word of a [Status]
	N       int
}
