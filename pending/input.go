package pending

import "github.com/conchhq/conch/chain"

// input is an event for the machine. Each action but Alarm gets one answer: the one below, or broke.
type input interface{ input() }

type (
	// loaded answers load. Best and Final are the account's next nonce at the head and at the last
	// final block, read while the snapshot was taken.
	loaded struct {
		Snapshot    Snapshot
		Best, Final uint64
	}
	// stored answers assign and replace.
	stored struct {
		Slots    []Slot     // what was committed: new slots after assign, new attempts after replace
		Left     int        // intents that still wait; only after assign
		Hold     error      // why no more was signed, if not nil
		Unsigned []unsigned // replacements that were not signed; only after replace
	}
	// sent answers submit.
	sent struct {
		Answers []answer
	}
	// seen answers probe. Final is the account's next nonce at the last final block, and Height
	// that block's number; both were read before the hashes were looked up.
	seen struct {
		Final  uint64
		Height uint64
		Sights []sight
	}
	// saved answers save.
	saved struct{}
	// broke reports that an action failed as a whole, or that its result is unknown.
	broke struct {
		Action action
		Unsure bool // of a write: it may have happened, and only the rows tell
	}
	// found answers search. In is the transaction that used the nonce, nil if there is none.
	found struct {
		Index uint64
		In    *inclusion
	}
	// turned reports a turn of the chain. Count is the account's next nonce, read after it: at the
	// head for an applied block, at the last final block for a finalized one.
	turned struct {
		Turn       chain.Turn
		Inclusions []chain.Inclusion // the account's, in an applied block
		Count      uint64
	}
	// woken reports that intents wait, or that cancellations were requested.
	woken struct {
		Queued  int
		Cancels []uint64 // nonces of slots whose intent is to be cancelled
		Counted bool     // Queued is a count of rows; else it is a hint, and a count follows soon
	}
	// lost reports that the stream of heads broke off: turns may have been missed.
	lost struct{}
	// tick reports that the instant named by Next has come.
	tick struct{}
)

// unsigned is a replacement that was not signed, and why.
type unsigned struct {
	Index uint64
	Why   error
}

// answer is the node's answer to an attempt that was sent.
type answer struct {
	Index uint64
	Hash  chain.Hash
	chain.Outcome
}

// inclusion is the transaction that used a nonce, ours or not, and its block.
type inclusion struct {
	Hash   chain.Hash
	Block  chain.Block
	Failed bool
}

// sight is the place where an attempt was found.
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

// action is an order of the machine.
type action interface{ action() }

type (
	// load reads the chain's counts, and the slots that the store or the chain has as not final.
	load struct{}
	// assign signs the oldest waiting intents, with nonces from First on, and stores all at once.
	assign struct {
		First uint64
		Most  int // how many intents
	}
	// replace signs one more attempt for each of some slots, and stores all at once.
	replace struct {
		Replacements []replacement
	}
	// submit sends stored attempts to the node, in this order, if the gate is open.
	submit struct {
		Attempts []Attempt
	}
	// probe looks attempts up.
	probe struct {
		Hashes []lookup
	}
	// search looks for the transaction that used a nonce, from a block on.
	search struct {
		Index uint64
		From  uint64
	}
	// save stores new states of slots.
	save struct {
		Changes []Change
	}
)

// replacement asks for an attempt that replaces the last one of its slot, or that fills a gap.
type replacement struct {
	Index  uint64
	Above  chain.Fee // the fee of the last attempt
	Before int       // the number of attempts that exist
	Gas    uint64    // the gas limit of the last attempt
	Filler bool      // it carries no call
	Gap    bool      // it fills a gap: there is no slot yet
}

// lookup names an attempt to be looked up.
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
