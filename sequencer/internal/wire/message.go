package wire

import (
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Incarnation is one start of a node, drawn at random (in a pair, per mint). What was asked by one incarnation is
// never answered to another.
type Incarnation [16]byte

// RequestID names a request for ever: the numbers of an incarnation begin at 1.
type RequestID struct {
	Incarnation Incarnation
	Number      uint64
}

// Message is what one node tells another about one contract.
type Message struct {
	Contract string // its address
	Height   uint64 // the last final block of the node that has sent it
	// Request names a request, or in an answer the request that it answers. It is zero in a notice.
	Request RequestID
	// Wait is how long the sender of a request waits for its answer, counted by the receiver from its arrival.
	Wait time.Duration
	Body Body
}

// Body is one of the types below.
type Body interface{ Kind() Kind }

// Kind tells bodies apart.
type Kind uint8

// The kinds.
const (
	KindDelegate Kind = iota + 1
	KindAccepted
	KindAssemble
	KindAssembled
	KindEndorse
	KindEndorsed
	KindAskGrant
	KindGranted
	KindDispatched
	KindNoted
	KindReturned
	KindAskList
	KindList
	KindAskHandover
	KindHandover
	KindAskAttempts
	KindAttempts
	KindRejected
)

// From a sender to the coordinator that it has chosen.
type (
	// Delegate hands intents over, in the order in which users have submitted them (P9, P21, I4). A second one with the
	// same delegation adds to it; intents that are there already are a no-op (P37). The answer is Accepted or Rejected.
	Delegate struct {
		Delegation ledger.Hash
		Range      ranking.Range    // whose order named the coordinator
		Avoid      []ledger.Account // members before it in that order that the sender could not reach
		Intents    []Offer
	}
	// Offer is one intent of a Delegate.
	Offer struct {
		Sequence ledger.Sequence
		Payload  ledger.Hash
	}
	// Accepted answers Delegate: the coordinator has the intents in its memory.
	Accepted struct{}
)

// From a coordinator to the sender of an intent, and back.
type (
	// Assemble asks for attempts (a batch of one sender's intents, in submit order). The answer is Assembled.
	Assemble struct {
		Items    []Step
		Context  Context
		Withheld []ledger.StateID // states of the context that are another's turn
	}
	// Step is an intent at one step under a delegation.
	Step struct {
		Sequence   ledger.Sequence
		Delegation ledger.Hash
	}
	// Context is what a coordinator has in flight: what differs from the ledger. Version counts its changes. With Base
	// 0 it is whole; else it has what changed since Base, and a sender that is not at Base answers Rejected (OutOfStep).
	Context struct {
		Base, Version uint64
		Locked        []ledger.StateID // on the ledger, and an attempt in flight spends them
		Created       []domain.State   // an attempt in flight creates them, and none spends them
		Gone          []ledger.StateID // neither any more; only in changes
	}
	// Assembled answers Assemble: one result for each item, in their order.
	Assembled struct{ Results []Result }
	// Result is an attempt, or why there is none.
	Result struct {
		Sequence  ledger.Sequence
		Whole                   // its owner is the node that has sent it; only if Why is Done
		Why       Why           // Done, Conflict, Failed, Ended, Moved or NotBefore
		NotBefore time.Duration // with NotBefore: how long another grant may still be used
	}
	// AskGrant asks for the owner's word, when nothing else stands between the attempts and their dispatch. The
	// answer is Granted.
	AskGrant struct {
		By    ledger.Account // that will send the entries
		Items []GrantStep
	}
	// GrantStep is an attempt for which a grant is asked.
	GrantStep struct {
		Step
		Assembled ledger.Hash
	}
	// Granted answers AskGrant, with one item for each, in their order. After a restart the owner sends it again for
	// grants that were given; then Request is the request of that time (P39, 2S).
	Granted struct{ Items []GrantResult }
	// GrantResult is a grant, or why there is none.
	GrantResult struct {
		Sequence ledger.Sequence
		Grant    ledger.Grant // only if Why is Done
		Why      Why          // Done, Ended, Moved, NotBefore or Unknown
	}
	// Dispatched tells a sender that entries were handed to the submitter. It is sent again until Noted (P32, P39).
	Dispatched struct{ Items []Handed }
	// Handed is an attempt, by its intent. Its owner's user wants to know who has endorsed it, and nothing else depends
	// on that: the coordinator may say anything.
	Handed struct {
		Sequence  ledger.Sequence
		Assembled ledger.Hash
		Endorsers []byte // see Places
	}
	// Noted answers Dispatched, and Attempts that are offered: it is stored.
	Noted struct{}
	// Returned gives intents back that were not dispatched (P16), or, as Failed, that were and can never land by that, since the submitter has
	// given them up. It may be lost: the digest of the next beat tells, or the grant's last block.
	Returned struct {
		Items  []Step
		Why    Why            // Moved, Refused, Unknown or Failed
		Better ledger.Account // with Moved: which member is heard and preferred; may be empty
	}
)

// Digest is what a coordinator has of one sender: how many intents, and the XOR of their names.
type Digest struct {
	Count uint32
	XOR   [16]byte
}

// Add adds a sequence to the digest, or takes it out with by = -1.
func (d *Digest) Add(s ledger.Sequence, by int32) {
	d.Count = uint32(int32(d.Count) + by)
	for i, b := range s.Bytes() {
		d.XOR[i] ^= b
	}
}

// Beat is a heartbeat: one message from a node to a peer for all contracts that it coordinates, and only while it has
// work there, or hears a coordinator that it precedes (P7, P10, I9). It answers nothing and gets no answer.
type Beat struct {
	Incarnation Incarnation
	Contracts   []Pulse
}

// Pulse is what a Beat says of one contract.
type Pulse struct {
	Contract string
	Height   uint64
	Range    ranking.Range // for which the node coordinates
	Works    bool          // it has work of anybody; else it only says that it is there
	Digest   Digest        // of the peer's intents
}

// The list repairs what was lost (P11).
type (
	// AskList asks a coordinator which intents of the asking sender it has. The answer is List.
	AskList struct{}
	// List has them all.
	List struct{ Sequences []ledger.Sequence }
)

// From a coordinator to the members.
type (
	// Endorse asks for endorsements of attempts (P25). The answer is Endorsed or Rejected.
	Endorse struct {
		Range    ranking.Range // for which the node coordinates
		Attempts []Whole       // each may use what those before it create
		Upstream []Whole       // attempts in flight that create what these use; only after the member has lacked them
	}
	// Whole is an attempt with what the ledger does not see.
	Whole struct {
		Attempt ledger.Attempt
		Payload []byte          // for the endorsers
		Outputs []domain.Secret // for the members, in the attempt's order
	}
	// Endorsed answers Endorse: one verdict for each attempt, in their order.
	Endorsed struct{ Verdicts []Verdict }
	// Verdict is an endorsement, or why there is none.
	Verdict struct {
		Assembled ledger.Hash
		Signature []byte // only if Why is Done
		Why       Why    // Done, Conflict (what creates an input is not known here), Refused or Failed
		Text      string // for the operator
	}
	// AskHandover asks for what a member has dispatched and the ledger has not decided (P17, D18). Unless the member
	// comes before the asker in that range, its answer closes its own dispatch. The answer is Handover.
	AskHandover struct{ Range ranking.Range }
	// Handover has them, in the order of their dispatch.
	Handover struct{ Entries []Dispatch }
	// Dispatch is an attempt that is dispatched, with its proof: the grant of its owner to the member that dispatches it, and as
	// many endorsements as the contract needs. The word of that member counts for nothing.
	Dispatch struct {
		Whole
		Grant        ledger.Grant
		Endorsements []ledger.Endorsement
	}
	// AskAttempts asks a member for attempts that have landed and whose contents the asker lacks. The answer is
	// Attempts.
	AskAttempts struct{ Assembled []ledger.Hash }
	// Attempts has those that are known. As a request it offers attempts that have landed to a member, which answers Noted when
	// it has stored them.
	Attempts struct{ Attempts []Whole }
)

// Entry returns what the ledger sees of it.
func (d Dispatch) Entry() ledger.Entry {
	return ledger.Entry{Attempt: d.Attempt, Endorsements: d.Endorsements, Grant: d.Grant}
}

// Rejected answers a request that is not carried out at all (I10).
type Rejected struct {
	Why  Why    // NotMember, UnknownContract, TooOld, TooNew, OutOfStep, Busy or Malformed
	Text string // for the operator
}

// Why is the reason of an answer.
type Why uint8

const (
	// Done: there is none, it is carried out.
	Done Why = iota
	// Conflict: the states or the data that it needs are not there now.
	Conflict
	// Failed: something went wrong, and may go right another time.
	Failed
	// Ended: the intent is over, or its sender has given it up.
	Ended
	// Moved: it is delegated to another coordinator, or was closed for one.
	Moved
	// NotBefore: another grant may still be used; ask again later.
	NotBefore
	// Unknown: this incarnation knows nothing of it.
	Unknown
	// Refused: it breaks the rules of the domain, or has too few endorsements.
	Refused
	// NotMember: the node that asks may not.
	NotMember
	// UnknownContract: the contract is not declared here.
	UnknownContract
	// TooOld: the range that the request names is long over here.
	TooOld
	// TooNew: the range that the request names is far ahead of here.
	TooNew
	// OutOfStep: the context does not continue what is here; send it whole.
	OutOfStep
	// Busy: too much waits already.
	Busy
	// Malformed: the request makes no sense.
	Malformed
	whys
)

var reasons = [whys]string{
	"done", "conflict", "failed", "ended", "moved", "not before", "unknown", "refused", "not a member",
	"unknown contract", "too old", "too new", "out of step", "busy", "malformed",
}

func (w Why) String() string {
	if w >= whys {
		return "no known reason"
	}
	return reasons[w]
}
