package pending

import (
	"math/big"
	"time"

	"github.com/conchhq/conch/chain"
)

// input is an event for the machine. Each action but Alarm gets one answer: the one below, or broke.
type input interface {
	answers() errand // the errand that it ends; 0: none
}

type (
	// loaded answers load. Best is the account's next nonce at the head, read while the snapshot was
	// taken.
	loaded struct {
		Snapshot Snapshot
		Best     uint64
		Pooled   uint64 // Best with the transactions in a pool; 0 if it was not asked for
	}
	// moved reports that a transaction which is stored as final seems to be in another block, and from which nonce on the
	// final rows are to be looked at.
	moved struct {
		From uint64
	}
	// stored answers assign and replace.
	stored struct {
		Slots    []Slot     // what was committed: new slots after assign, new attempts after replace
		Left     int        // intents that still wait; only after assign
		Hold     error      // why no more was signed, if not nil
		Unsigned []unsigned // replacements that were not signed; only after replace
		Waits    *Waits     // if the assign has changed what is put off
	}
	// sent answers submit.
	sent struct {
		Attempts []chain.Signed
		Outcomes []chain.Outcome // of each
	}
	// seen answers probe.
	seen struct {
		Hashes    []lookup
		Sightings []chain.Sighting // of each
	}
	// linked answers link: which blocks are the block Of, or ancestors of it.
	linked struct {
		Of    chain.Block
		Slots []place
		Are   []bool // of each
	}
	// surveyed answers survey.
	surveyed struct {
		Of     chain.Block
		Proven []uint64 // nonces, from that of the survey on, whose transaction is final and proven
		First  uint64   // the lowest block that has a transaction with such a nonce; 0: none has
		Clash  ID       // an intent that waits and has the call of one of them
		Next   uint64   // the height at which reading goes on
	}
	// confirmed answers confirm.
	confirmed struct {
		Claims []claim // with what was said of each
	}
	// paged answers page.
	paged struct {
		From, To uint64
		Slots    []Slot
	}
	// saved answers save.
	saved struct{}
	// broke reports that an action failed as a whole, or that its result is unknown.
	broke struct {
		Action action
		Unsure bool // of a write: it may have happened, and only the rows tell
	}
	// found answers search with the account's transactions in the blocks below Next.
	found struct {
		Recall bool // as in search
		Life   bool // likewise
		From   uint64
		Index  uint64
		Placed []chain.Inclusion
		Next   uint64 // the height at which the search goes on
	}
	// turned reports a turn of the chain.
	turned struct {
		Turn       chain.Turn
		Inclusions []chain.Inclusion // the account's, in an applied block
		Count      uint64            // the account's next nonce, read after an applied block
		Version    string            // of the chain's runtime after an applied block; empty if its attempts do not wear out
	}
	// woken reports that intents wait, or that cancellations were requested.
	woken struct {
		Waits
		Counted bool // it is a count of rows; else Queued is a hint, and a count follows soon
	}
	// rested reports that the heads are no longer followed, since nothing was open.
	rested struct{}
	// raised reports that another fee is allowed.
	raised struct{}
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

func (loaded) answers() errand    { return toLoad }
func (moved) answers() errand     { return 0 }
func (stored) answers() errand    { return toSign }
func (sent) answers() errand      { return toSend }
func (seen) answers() errand      { return toLook }
func (linked) answers() errand    { return toLink }
func (confirmed) answers() errand { return toConfirm }
func (surveyed) answers() errand  { return toSurvey }
func (found) answers() errand     { return toSearch }
func (saved) answers() errand     { return toSave }
func (paged) answers() errand     { return toPage }
func (in broke) answers() errand  { return in.Action.errand() }
func (turned) answers() errand    { return 0 }
func (woken) answers() errand     { return 0 }
func (lost) answers() errand      { return 0 }
func (raised) answers() errand    { return 0 }
func (rested) answers() errand    { return 0 }
func (tick) answers() errand      { return 0 }

// action is an order of the machine.
type action interface {
	errand() errand // of an Alarm 0: nothing answers it
}

type (
	// load reads the chain's counts, the slots that the store or the chain has as not final, and some others.
	load struct {
		Final uint64 // those that the store has as final, from this nonce on
	}
	// assign signs the oldest waiting intents, with nonces from First on, and stores all at once.
	assign struct {
		First       uint64
		Most        int      // how many intents
		Best        uint64   // the account's next nonce at the head
		Owed        *big.Int // the most that the account's transactions that are in no block may cost
		Relaxed     bool     // as in Config
		RejectAfter time.Duration
		Stood       uint64 // how many blocks time has counted for
	}
	// replace signs one more attempt for each of some slots, and stores all at once.
	replace struct {
		Replacements []replacement
	}
	// submit sends stored attempts to the node, in this order, if the gate is open.
	submit struct {
		Attempts []chain.Signed
		Front    bool // all later ones of the account wait for the first, which is not new
	}
	// probe looks attempts up.
	probe struct {
		Hashes []lookup
	}
	// search reads the account's transactions in some blocks from a height on that are ancestors of Of.
	search struct {
		Recall bool   // it is for the slots of an earlier term; else for the one with the nonce Index
		Life   bool   // it is for the end of the account's life
		Index  uint64 // whose nonce was used
		Of     chain.Block
		From   uint64
	}
	// link asks whether the blocks of some slots' transactions are the block Of or ancestors of it.
	link struct {
		Of    chain.Block
		Slots []place
	}
	// survey reads transactions of the account with nonces from First on, in some blocks from a height
	// on that are ancestors of the final block Of.
	survey struct {
		First uint64
		Of    chain.Block
		By    string // the endpoint that showed Of
		From  uint64
		Still bool // the head stands
	}
	// confirm asks for a second opinion about transactions that one endpoint calls final.
	confirm struct {
		Claims []claim
	}
	// page reads the slots with nonces from From to To, which have left the line.
	page struct {
		From, To uint64
	}
	// save stores new states of slots, and why intents wait.
	save struct {
		Changes []Change
		Hold    *Hold // nil: as it is stored
		Opens   *Life // the next life; nil: this one goes on
	}
)

// replacement asks for an attempt that replaces the last one of its slot, or that fills a gap.
type replacement struct {
	Index  uint64
	Above  chain.Fee // the fee of the last attempt
	Before int       // the number of attempts that exist
	Gas    uint64    // the gas limit of the last attempt; 0: estimate it anew
	Filler bool      // it carries no call
	Stuck  bool      // the last attempt is in a pool and only waits
	Gap    bool      // it fills a gap: there is no slot yet
	Brief  bool      // it is a pad
	Terms            // of the intent
	Late   *ID       // the intent, if it is called back since its deadline is over

	Outworn []chain.Hash // all attempts, if the last one is only signed anew; then Above is zero
	Same    chain.Fee    // its fee
}

// place is the block of a slot's transaction.
type place struct {
	Index uint64
	Block chain.Block
}

// claim is what one endpoint says of a slot's transaction, and in confirmed what is said of it then.
type claim struct {
	chain.Claim
	Foreign bool // it is a transaction that is no stored attempt of the slot

	Said chain.Opinion // the second opinion
	// Own says that a foreign transaction carries the call of the slot's intent: it is an attempt that the store has lost.
	Own bool
	// Unproven is why nothing can be concluded from a foreign transaction.
	Unproven string
}

// lookup names an attempt to be looked up.
type lookup struct {
	Index uint64
	Hash  chain.Hash
}

func (load) errand() errand    { return toLoad }
func (assign) errand() errand  { return toSign }
func (replace) errand() errand { return toSign }
func (submit) errand() errand  { return toSend }
func (probe) errand() errand   { return toLook }
func (search) errand() errand  { return toSearch }
func (link) errand() errand    { return toLink }
func (confirm) errand() errand { return toConfirm }
func (survey) errand() errand  { return toSurvey }
func (save) errand() errand    { return toSave }
func (page) errand() errand    { return toPage }
func (Alarm) errand() errand   { return 0 }
