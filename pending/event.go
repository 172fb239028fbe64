package pending

import (
	"time"

	"github.com/conchhq/conch/chain"
)

// Event is what a store tells of an intent: a change, and how the intent stood after it. It is stored together with the change, and is
// told once or more often, the events of one intent in the order of their versions. [Events], in contrast, are about an account.
type Event struct {
	Intent  ID
	Account chain.Account
	Version uint64 // the intent's after the change
	Kind    Kind
	At      time.Time
	Fate    Fate
	Index   *uint64      // the nonce of its slot; nil if it has none
	Hash    chain.Hash   // as in Change
	Block   chain.Block  // as in Change
	Effect  chain.Effect // as in Change
	Why     string       // of a rejected one, or of one that waits
}

// Kind says what kind of change an [Event] tells of.
type Kind string

// The kinds. An intent that ends is told of as final or as rejected. After one of these it is told of again only if the chain takes the
// end back: as rewound, or once more as final or rejected, with another block or another effect. All have a larger version.
const (
	ToldAccepted  Kind = "accepted"
	ToldNonce     Kind = "nonce"     // it has got a slot
	ToldInBlock   Kind = "in_block"  // in a block, or in another one
	ToldRetracted Kind = "retracted" // its block has left the chain
	ToldFinal     Kind = "final"     // it is done, cancelled or expired
	ToldRejected  Kind = "rejected"
	ToldRewound   Kind = "rewound" // the chain has taken its end back: it is open
	ToldWaiting   Kind = "waiting" // something has been in its way for long
)

// Kinds returns all kinds of events.
func Kinds() []Kind {
	return []Kind{ToldAccepted, ToldNonce, ToldInBlock, ToldRetracted, ToldFinal, ToldRejected, ToldRewound, ToldWaiting}
}

// Outcome returns one of [Outcomes], or an empty text if the intent had not ended.
func (e Event) Outcome() string { return outcome(e.Fate, e.Effect) }

// tells returns the kind of the event that a change of a slot with an intent is, given the state before; an empty one if it is none.
func (c Change) tells(was Change) Kind {
	ends, moved := c.Intent != Open && c.Intent != Again, c.Block.Hash != was.Block.Hash
	switch {
	case !ends && was.Status.closes():
		return ToldRewound
	case ends && was.Status == c.Status && !moved && was.Effect == c.Effect:
		return ""
	case c.Intent == Rejected:
		return ToldRejected
	case ends:
		return ToldFinal
	case was.Block.Hash != "" && (c.Block.Hash == "" || c.Intent == Again):
		return ToldRetracted
	case moved && c.Intent == Open:
		return ToldInBlock
	case c.Status == FinalityTimeout && was.Status != c.Status:
		return ToldWaiting
	}
	return ""
}
