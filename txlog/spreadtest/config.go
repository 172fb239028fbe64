package spreadtest

import (
	"cmp"
	"time"

	"github.com/conchhq/conch/internal/faults"
)

const (
	leastDelay = time.Millisecond
	mostDelay  = 20 * time.Millisecond
	// meanDelay is the mean of a link's delay, the unit of the figures.
	meanDelay = (leastDelay + mostDelay) / 2

	stall     = 200 * time.Millisecond // the first repetition of what is lost
	mostStall = 32 * stall
	headEvery = 50 * time.Millisecond // between two heads of the leader
	tickEvery = 25 * time.Millisecond
)

// Config describes a run. Zero fields have defaults.
type Config struct {
	Seed    uint64        // equal configurations give equal runs
	Loss    int           // of the messages, in percent: each is a stall
	Size    int           // bytes of an entry's diff (default 200)
	Entries int           // that are committed (default 20)
	Every   time.Duration // from one commit to the next (default 1s)
	Settle  time.Duration // after the last commit (default 5s)
	Uplink  int           // bytes a second that a node sends (default 125 million: a gigabit)

	Alone bool // a request reaches only the peer that told of the newest head
}

// WithDefaults returns the configuration with all fields set.
func (c Config) WithDefaults() Config {
	c.Size = cmp.Or(c.Size, 200)
	c.Entries = cmp.Or(c.Entries, 20)
	c.Every = cmp.Or(c.Every, time.Second)
	c.Settle = cmp.Or(c.Settle, 5*time.Second)
	c.Uplink = cmp.Or(c.Uplink, 125_000_000)
	return c
}

// Validate returns every fault.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var f faults.List
	f.Add(c.Loss < 0 || c.Loss > 50, "a loss of %d %%: 0 to 50", c.Loss)
	f.Add(c.Size < 0 || c.Size > 1<<20, "a diff of %d bytes: a mebibyte at most", c.Size)
	f.Add(c.Entries < 1 || c.Every < 0 || c.Settle < 0 || c.Uplink < 1, "a number is below its least")
	return f.All()
}

// Result is what came of a run.
type Result struct {
	Nodes      int
	Neighbours float64 // of a node, on average
	Most       int     // neighbours of the node that has most
	Applied    int     // entries by all followers
	Missing    int     // that were not applied until the end

	P50, P99, Last time.Duration // from a commit until a follower has applied it, of all entries
	WorstP99       time.Duration // of the entry that was slowest
	Pulls          float64       // that a follower sent for an entry, on average
	Uploads        int           // of one entry by one node, at most
	UploadsP99     int
	Doubled        float64 // share of the records that came in vain
	Bytes          int64   // that a node sent for an entry, on average, heads and requests with it
	MostBytes      int64   // that one node sent for an entry on average, at most
	Refused        int     // whatever a machine refused: nothing lies here
	Steps          int
	Trace          string // equal runs have equal ones
}

// Delays returns a time in means of a link's delay.
func Delays(d time.Duration) float64 { return float64(d) / float64(meanDelay) }
