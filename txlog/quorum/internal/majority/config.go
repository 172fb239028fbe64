package majority

import (
	"time"

	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/txlog"
)

// Config configures a [Machine]. What has no default is required.
type Config struct {
	Self   string // this node's name
	Store  uint64 // the id of its store: below 2^63
	Log    txlog.ID
	Stored Stored        // what the store has kept
	Have   uint64        // records up to here were verified and kept already, as followers do it
	Lease  time.Duration // of the act door: Genesis.LeaseMS
	Seed   uint64        // of the pauses between two campaigns
	// Look is asked before records are stored that a leader has sent. The first may be at an index that is stored already:
	// then everything from there on would be replaced. After an error they are not stored.
	Look func(records []txlog.Record) error
	// Last says that Look refuses what is stored here and not known to be committed. With it this store may be up to date where others are not,
	// and would win each election, in vain: the others campaign first, and replace it if they can.
	Last bool
	Keep uint64 // committed entries that are kept for members that are behind (default 10,000), and 16 MB of them at most

}

func (c Config) withDefaults() Config {
	if c.Keep == 0 {
		c.Keep = 10_000
	}
	return c
}

// Validate returns an error that lists every fault.
func (c Config) Validate() error {
	f := faults.List{Of: "quorum: "}
	f.Add(c.Self == "", "this node has no name")
	f.Add(c.Store == 0 || c.Store >= 1<<63, "the store's id is %d; it is above 0 and below 2^63", c.Store)
	f.Add(c.Log.IsZero(), "the log's id is missing")
	f.Add(c.Lease < 100*time.Millisecond, "a lease of %v is too short: 100ms at least", c.Lease)
	f.Add(c.Look == nil, "nobody looks at what is to be stored")
	return f.All()
}

const (
	electionTicks = 10        // rounds after which a leader that no majority answers steps down
	missedBeats   = 3         // rounds without a word of the leader after which it is lost
	mostMissed    = 8         // the same at most, where leaders were lost that lived
	calmTicks     = 600       // rounds for which that counts
	rankTicks     = 2         // rounds between the campaigns of two members
	mostPause     = 8         // rounds between two campaigns of one member, and up to as many more by chance
	snapshotTicks = 20        // rounds after which a member that is behind is told again from where to go on
	mostEntries   = 256 << 10 // bytes of entries in one message, unless one is larger: the beats of other logs wait behind it
	mostInflight  = 768 << 10 // bytes of entries on their way to one member: more find no room in the queue of the connection
	mostKept      = 16 << 20  // bytes of entries that are kept for members that are behind
	mostMessage   = 4 << 20   // bytes of a message that is read
	mostWaiting   = 10_000    // reads that wait for a majority's answer
	mostLeap      = 1 << 20   // terms by which a message is ahead of what this member knows: each election begins one. One word must not take all there are
	mostNumber    = 1 << 62   // a term or an index above it is none: numbers that are added to it overflow nothing
)
