package pending

import (
	"github.com/conchhq/conch/chain"
)

// Input is something that happened. Each action that asks for an answer gets
// exactly one: the one named with it, or Broke.
type input interface{ input() }

type (
	// Loaded answers Load. Best and Final are what the chain says, asked while the
	// snapshot was taken. Blocks in between are seen by the next count of a head.
	loaded struct {
		Snapshot    Snapshot
		Best, Final uint64
	}
	// Stored answers Assign and Replace: what was committed, with its bytes.
	stored struct {
		Slots []Slot // assign: new ones; replace: the attempts added
		// Left is how many intents still wait; only Assign counts them.
		Left int
		// Hold says why no more was signed: one of ErrFunds, ErrFee, ErrKey, ErrUnclear of
		// chain, or what the endpoint said.
		Hold error
		// Unsigned are the wishes that came to nothing; only Replace has some.
		Unsigned []unsigned
	}
	// Sent answers Submit.
	sent struct {
		Answers []answer
	}
	// Seen answers Probe. Final is the account's next index at the last finalized
	// block, and Height that block's number, both asked before the hashes were.
	seen struct {
		Final  uint64
		Height uint64
		Sights []sight
	}
	// Saved answers Save.
	saved struct{}
	// Broke says that an action failed as a whole, or that nobody knows whether it did.
	broke struct {
		Action action
		// Unsure: a write was sent and its answer is missing. The rows decide.
		Unsure bool
	}
	// Found answers Search: the transaction that used a slot up, or none.
	found struct {
		Index uint64
		In    *inclusion
	}
	// Turned is a turn of the chain. With an applied block comes what the account sent in
	// it and its next index at the head, with a finalized one its next index there; both
	// were asked after the turn.
	turned struct {
		Turn       chain.Turn
		Inclusions []chain.Inclusion
		Count      uint64
	}
	// Woken says that intents wait, or that one of the account's was cancelled.
	woken struct {
		Queued  int
		Cancels []uint64
		Counted bool // the rows say so; else somebody did, and a count follows soon
	}
	// Lost says that the stream of heads broke off: whatever happened meanwhile is unknown.
	lost struct{}
	// Tick says that the time named by Next has come.
	tick struct{}
)

// Unsigned is a wish that came to nothing: one of the errors that Hold has, or ErrCall.
type unsigned struct {
	Index uint64
	Why   error
}

// Try is an attempt that was handed to the node, and its answer.
type answer struct {
	Index uint64
	Hash  chain.Hash
	chain.Outcome
}

// Inclusion is a transaction in a block.
type inclusion struct {
	Hash   chain.Hash
	Block  chain.Block
	Failed bool
}

// Sight is where an attempt was found.
type sight struct {
	Index uint64
	Hash  chain.Hash
	chain.Sighting
}

func (loaded) input() {}
func (stored) input() {}
func (sent) input()   {}
func (seen) input()   {}
func (found) input()  {}
func (saved) input()  {}
func (broke) input()  {}
func (turned) input() {}
func (woken) input()  {}
func (lost) input()   {}
func (tick) input()   {}

// Action is something to be done.
type action interface{ action() }

type (
	// Load asks the chain for its counts, and the store for all slots that are not final
	// and all, final or not, that the chain has not finalized or has taken back.
	load struct{}
	// Assign takes the oldest waiting intents, at most that many, gives them the
	// indices from First on, signs, and stores, in one fenced transaction.
	assign struct {
		First uint64
		Most  int
	}
	// Replace signs a further attempt for each slot and stores them, likewise.
	replace struct {
		Raises []raise
	}
	// Submit hands stored attempts to the node, in this order, after a last look at the gate.
	submit struct {
		Attempts []Attempt
	}
	// Probe looks attempts up.
	probe struct {
		Hashes []lookup
	}
	// Search looks for the transaction that used a slot up.
	search struct {
		Index uint64
		From  uint64 // the lowest block it can be in
	}
	// Save stores what became of slots.
	save struct {
		Changes []Change
	}
)

// raise asks for a further attempt.
type raise struct {
	Index  uint64
	Above  chain.Fee
	Before int    // how many attempts there are
	Gas    uint64 // what they may spend
	Filler bool
	New    bool // there is no slot yet: it closes a gap
}

// Where is an attempt to be looked up.
type lookup struct {
	Index uint64
	Hash  chain.Hash
}

func (load) action()    {}
func (assign) action()  {}
func (replace) action() {}
func (submit) action()  {}
func (probe) action()   {}
func (search) action()  {}
func (save) action()    {}
func (Alarm) action()   {}
