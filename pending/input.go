package pending

import (
	"github.com/conchhq/conch/chain"
)

// Input is something that happened. Each action that asks for an answer gets
// exactly one: the one named with it, or Broke.
type Input interface{ input() }

type (
	// Loaded answers Load. Best and Final are what the chain says, asked while the
	// snapshot was taken. Blocks in between are seen by the next count of a head.
	Loaded struct {
		Snapshot    Snapshot
		Best, Final uint64
	}
	// Stored answers Assign and Replace: what was committed, with its bytes.
	Stored struct {
		Slots []Slot // Assign: new ones; Replace: the attempts added
		// Left is how many intents still wait; only Assign counts them.
		Left int
		// Hold says why no more was signed: one of ErrFunds, ErrFee, ErrKey, ErrUnclear of
		// chain, or what the endpoint said.
		Hold error
		// Unsigned are the wishes that came to nothing; only Replace has some.
		Unsigned []Unsigned
	}
	// Sent answers Submit.
	Sent struct {
		Tries []Try
	}
	// Seen answers Probe. Final is the account's next index at the last finalized
	// block, and Height that block's number, both asked before the hashes were.
	Seen struct {
		Final  uint64
		Height uint64
		Sights []Sight
	}
	// Saved answers Save.
	Saved struct{}
	// Broke says that an action failed as a whole, or that nobody knows whether it did.
	Broke struct {
		Action Action
		// Unsure: a write was sent and its answer is missing. The rows decide.
		Unsure bool
	}
	// Found answers Search: the transaction that used a slot up, or none.
	Found struct {
		Index uint64
		In    *Inclusion
	}
	// Turned is a turn of the chain. With an applied block comes what the account sent in
	// it and its next index at the head, with a finalized one its next index there; both
	// were asked after the turn.
	Turned struct {
		Turn       chain.Turn
		Inclusions []chain.Inclusion
		Count      uint64
	}
	// Woken says that intents wait, or that one of the account's was cancelled.
	Woken struct {
		Queued  int
		Cancels []uint64
		Counted bool // the rows say so; else somebody did, and a count follows soon
	}
	// Lost says that the stream of heads broke off: whatever happened meanwhile is unknown.
	Lost struct{}
	// Tick says that the time named by Next has come.
	Tick struct{}
)

// Unsigned is a wish that came to nothing: one of the errors that Hold has, or ErrCall.
type Unsigned struct {
	Index uint64
	Why   error
}

// Try is an attempt that was handed to the node, and its answer.
type Try struct {
	Index uint64
	Hash  chain.Hash
	chain.Outcome
}

// Inclusion is a transaction in a block.
type Inclusion struct {
	Hash   chain.Hash
	Block  chain.Block
	Failed bool
}

// Sight is where an attempt was found.
type Sight struct {
	Index uint64
	Hash  chain.Hash
	chain.Sighting
}

func (Loaded) input() {}
func (Stored) input() {}
func (Sent) input()   {}
func (Seen) input()   {}
func (Found) input()  {}
func (Saved) input()  {}
func (Broke) input()  {}
func (Turned) input() {}
func (Woken) input()  {}
func (Lost) input()   {}
func (Tick) input()   {}

// Action is something to be done.
type Action interface{ action() }

type (
	// Load asks the chain for its counts, and the store for all slots that are not final
	// and all, final or not, that the chain has not finalized or has taken back.
	Load struct{}
	// Assign takes the oldest waiting intents, at most that many, gives them the
	// indices from First on, signs, and stores, in one fenced transaction.
	Assign struct {
		First uint64
		Most  int
	}
	// Replace signs a further attempt for each slot and stores them, likewise.
	Replace struct {
		Wishes []Wish
	}
	// Submit hands stored attempts to the node, in this order, after a last look at the gate.
	Submit struct {
		Attempts []Attempt
	}
	// Probe looks attempts up.
	Probe struct {
		Hashes []Where
	}
	// Search looks for the transaction that used a slot up.
	Search struct {
		Index uint64
		From  uint64 // the lowest block it can be in
	}
	// Save stores what became of slots.
	Save struct {
		Changes []Change
	}
	// Alarm is for people. It is raised once for each cause until that has passed.
	Alarm struct {
		Cause  Cause
		Whole  bool   // it is about the account,
		Index  uint64 // else about this slot
		Intent ID     // Unclear: which
		Raised bool   // else it has passed
		Why    string // in the words of the chain, or of who signs, if there are some
	}
)

// Wish asks for a further attempt.
type Wish struct {
	Index  uint64
	Above  chain.Fee
	Before int    // how many attempts there are
	Gas    uint64 // what they may spend
	Filler bool
	New    bool // there is no slot yet: it closes a gap
}

// Where is an attempt to be looked up.
type Where struct {
	Index uint64
	Hash  chain.Hash
}

func (Load) action()    {}
func (Assign) action()  {}
func (Replace) action() {}
func (Submit) action()  {}
func (Probe) action()   {}
func (Search) action()  {}
func (Save) action()    {}
func (Alarm) action()   {}
