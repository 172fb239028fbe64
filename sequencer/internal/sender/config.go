package sender

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Config configures a [Machine]. What has no default is required. The machine keeps what the pointers point to, and
// changes none of it.
type Config struct {
	Self      ledger.Account     // the owner of the intents: a member
	Contract  *ledger.Contract   // shared by the machines of a node
	Committee *ranking.Committee // of the accounts of Contract.Committee
	Scheme    ledger.Scheme
	Rules     domain.Rules
	Book      Book

	Incarnation wire.Incarnation // random, for each start
	Lineage     uint64           // random, for each start; of the sequences that it gives
	Secret      [32]byte         // for the salts of states; it stays the same and in the node
	Load        Load             // what the store has

	AckTimeout   time.Duration // for which a Delegate is waited for (default 500ms)
	Silence      time.Duration // without a word after which a coordinator counts as gone (default 500ms)
	MoveAfter    time.Duration // that accepted intents stay after the range turned to another node (default 2s)
	RegrantAfter time.Duration // for which a grant keeps others waiting (default 2s)
	ListEvery    time.Duration // between two lists of one coordinator, at least (default 1s)
	NudgeAfter   time.Duration // without a block, while one is waited for (default 2.5s)
	Patience     time.Duration // with a coordinator that leaves an intent alone, and eight blocks at least (default 10s)
	Tries        int           // of an intent that fails for no good reason (default 3)
	Batch        int           // attempts that are assembled at once (default 64)

	// Share has an intent whose attempt this node has coordinated itself be told as done when its contents are with another
	// member: the node answers the action Share with Shared.
	Share bool

	// Said, if there is one, returns the last final block of which a node has spoken; 0: of none.
	Said func(ledger.Account) uint64

	// Watch, if there is one, is told of each step of an intent, within the machine's Step.
	Watch func(Passage)
}

// Book is what the machine needs of the node's knowledge of states. The view is of what is unspent at the head.
type Book interface {
	domain.View
	// Hear remembers an attempt under its hash, which it returns. An error means that the attempt makes no sense.
	Hear(w wire.Whole) (ledger.Hash, error)
	// Known returns an output of an attempt that was heard, spent or not.
	Known(id ledger.StateID) (domain.State, bool)
}

// Load is what the store and the ledger have at a start.
type Load struct {
	Final   uint64 // the last block that the machine is not told of: it was final when the store was written
	Head    uint64 // the ledger's head now; not below Final
	Intents []Loaded
}

// Loaded is an open intent, in the order of submission.
type Loaded struct {
	IntentRow

	Failures   int
	Dispatched ledger.Hash // the last of its marks; zero if no dispatch is noted
	Over       ledger.Hash // the last of its marks, or zero
	GivenUp    string      // why it is to be Reverted; empty if it is not
	Grants     []GrantRow  // in the order in which they were stored
}

func (c Config) withDefaults() Config {
	c.AckTimeout = cmp.Or(c.AckTimeout, 500*time.Millisecond)
	c.Silence = cmp.Or(c.Silence, 500*time.Millisecond)
	c.MoveAfter = cmp.Or(c.MoveAfter, 2*time.Second)
	c.RegrantAfter = cmp.Or(c.RegrantAfter, 2*time.Second)
	c.ListEvery = cmp.Or(c.ListEvery, time.Second)
	c.NudgeAfter = cmp.Or(c.NudgeAfter, 2500*time.Millisecond)
	c.Patience = cmp.Or(c.Patience, 10*time.Second)
	c.Tries = cmp.Or(c.Tries, 3)
	c.Batch = cmp.Or(c.Batch, 64)
	return c
}

// Validate returns an error that lists every fault.
func (c Config) Validate() error {
	f := faults.List{Of: "sender: "}
	f.Add(c.Contract == nil || c.Committee == nil, "contract and committee are required")
	if c.Contract != nil {
		f.Join(c.Contract.Validate())
		f.Add(!slices.Contains(c.Contract.Members, c.Self), "%v is no member of the contract, so its intents would never land", c.Self)
		for _, a := range c.Contract.Committee {
			f.Add(c.Committee != nil && !c.Committee.Has(string(a)), "the ranking does not know %v of the committee", a)
		}
		f.Add(c.Committee != nil && len(c.Committee.Nodes()) > len(c.Contract.Committee), "the ranking has nodes that are not in the committee")
	}
	f.Add(c.Scheme == nil || c.Rules == nil || c.Book == nil, "scheme, rules and book are required")
	f.Add(c.Incarnation == wire.Incarnation{}, "the incarnation is zero: draw one at each start")
	f.Add(c.Lineage == 0, "the lineage is zero: draw one at each start, or a restored store gives numbers twice")
	f.Add(c.Secret == [32]byte{}, "the secret is zero: anybody could guess what a commitment hides")
	for _, d := range []time.Duration{c.AckTimeout, c.Silence, c.MoveAfter, c.RegrantAfter, c.ListEvery, c.NudgeAfter, c.Patience} {
		f.Add(d < 0, "a duration is below 0")
	}
	f.Add(c.Tries < 0 || c.Batch < 0, "a number is below 0")
	f.Add(c.Load.Head < c.Load.Final, "its ledger's head %d is before the last final block %d", c.Load.Head, c.Load.Final)
	return f.All()
}
