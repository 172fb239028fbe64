package coordinator

import (
	"time"

	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Book is what the node knows of the contract's states. The machine only reads it.
type Book interface { //nolint:interfacebloat // what the machine reads, and nothing else
	// Hear takes an attempt's content and returns its hash, or says what is wrong with it.
	Hear(w wire.Whole) (assembled ledger.Hash, err error)
	// Whole returns the content of an attempt that was heard.
	Whole(assembled ledger.Hash) (wire.Whole, bool)
	// Unspent reports whether a state is unspent at the head.
	Unspent(s ledger.StateID) bool
	// Decided reports whether an attempt has landed, or a state that it spends or reads was spent by another, in a block
	// that is not final.
	Decided(assembled ledger.Hash, a ledger.Attempt) bool
}

// Config is what a coordinator needs. Zero durations and numbers have defaults.
type Config struct {
	Self        ledger.Account     // the node, and the account that sends its entries
	Contract    *ledger.Contract   // shared by the contract's machines
	Committee   *ranking.Committee // of the contract's committee, named by their accounts
	Scheme      ledger.Scheme
	Book        Book
	Incarnation wire.Incarnation
	Number      uint64 // of the last request that this incarnation has made before, 0 at its start
	Head        uint64 // the canonical block up to which the node has followed the ledger
	Rows        []Row  // what was stored and is not over, in the order of its dispatch

	Beat         time.Duration // between two heartbeats; 200 ms
	Silence      time.Duration // after which a request counts as not answered, and a coordinator as gone; 500 ms
	Hold         time.Duration // the longest wait for what was inherited; 2 s
	KeptFor      time.Duration // how long work is kept whose sender cannot reach a better coordinator; 10 s
	LongestAside time.Duration // the longest time for which a silent member is not asked; 30 s
	NudgeAfter   time.Duration // without a block, while an entry waits for one whose sender asks for none; 5 s
	Review       time.Duration // between two looks at what has become of submissions; 5 s
	Batch        int           // intents in a request to assemble, and entries in a submission; 50
	InFlight     int           // this node's attempts that are neither in a block nor given up; above it nothing more is assembled; 10,000
	Pool         int           // intents of one sender; above it the coordinator is busy; 60,000, and 65,536 at most

	Strict bool // take work only when one's own height names this node, as document 002 has it (P21)
}

// Row is what is stored of a dispatch, before it is submitted (P38).
type Row struct {
	wire.Dispatch
	Noted bool // the sender has confirmed that it knows
}

func (c Config) withDefaults() Config {
	for d, value := range map[*time.Duration]time.Duration{
		&c.Beat: 200 * time.Millisecond, &c.Silence: 500 * time.Millisecond, &c.Hold: 2 * time.Second,
		&c.KeptFor: 10 * time.Second, &c.NudgeAfter: 5 * time.Second, &c.Review: 5 * time.Second, &c.LongestAside: 30 * time.Second,
	} {
		if *d == 0 {
			*d = value
		}
	}
	for n, value := range map[*int]int{&c.Batch: 50, &c.InFlight: 10_000, &c.Pool: 60_000} {
		if *n == 0 {
			*n = value
		}
	}
	return c
}

// Validate returns every fault.
func (c Config) Validate() error {
	f := faults.List{Of: "coordinator: "}
	f.Add(c.Contract == nil || c.Committee == nil || c.Scheme == nil || c.Book == nil, "contract, committee, scheme and book are needed")
	f.Add(c.Self == "", "the node has no account")
	f.Add(c.Committee != nil && !c.Committee.Has(string(c.Self)), "the node is not in the contract's committee")
	f.Add(c.Incarnation == wire.Incarnation{}, "the incarnation is drawn at random at each start; it is zero")
	f.Add(c.Beat < 0 || c.Silence < 0 || c.Hold < 0 || c.KeptFor < 0 || c.NudgeAfter < 0 || c.Review < 0 || c.LongestAside < 0, "durations are not negative")
	f.Add(c.Batch < 0 || c.InFlight < 0 || c.Pool < 0, "batch, in flight and pool are not negative")
	f.Add(c.Pool > wire.MostNames, "a list of a sender's intents has %d at most: the pool is larger", wire.MostNames)
	return f.All()
}
