package member

import (
	"cmp"
	"time"

	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
)

// Config configures a [Machine]. What has no default is required.
type Config struct {
	Self string             // this member's name
	Base *txlog.Copy        // of what is committed, as far as the disk knows; the machine owns it from now on
	Tail []txlog.Record     // the records after it that are on the disk
	New  func() txlog.State // makes an empty state
	Kept uint64             // the index of the newest snapshot on the disk; 0: there is none

	MostWaiting   int    // goals that are not answered, those in flight too, and as many reads (default 1000)
	SnapshotEvery uint64 // entries between two snapshots (default 10,000); each comes with a scrub

	// Tests have others.
	mostInFlight int // entries that are executed and not committed
	mostTail     int // bytes of those
}

const (
	round    = 100 * time.Millisecond // of the authority: a tick of its clock
	publish  = 50 * time.Millisecond  // between two heads of the leader
	silence  = time.Second            // after which another member says a head itself
	patience = 5 * time.Second        // for an entry that some member refuses, and for a read that nobody confirms

	goalPatience = time.Minute // for which a goal waits for a leader: those who ask wait no longer, or have sent it again
)

func (c Config) withDefaults() Config {
	c.MostWaiting = cmp.Or(c.MostWaiting, 1000)
	c.SnapshotEvery = cmp.Or(c.SnapshotEvery, 10_000)
	c.mostInFlight = cmp.Or(c.mostInFlight, 256)
	c.mostTail = cmp.Or(c.mostTail, 32<<20)
	return c
}

// Validate returns an error that lists every fault.
func (c Config) Validate() error {
	c = c.withDefaults()
	f := faults.List{Of: "member: "}
	f.Add(c.Self == "" || len(c.Self) > limits.MostName, "a member's name has 1 to %d bytes", limits.MostName)
	f.Add(c.Base == nil, "the copy of what is committed is missing")
	f.Add(c.New == nil, "a maker of states is required")
	f.Add(c.MostWaiting < 0, "a limit is below 0")
	return f.All()
}
