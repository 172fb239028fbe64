package follower

import (
	"cmp"
	"time"

	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/txlog"
)

// Config configures a [Machine]. What has no default is required.
type Config struct {
	Self    string
	Base    *txlog.Copy // as the store has it. A machine that follows owns it
	New     func() txlog.State
	Member  bool           // a member applies; the machine follows only after Follow
	Past    []txlog.Record // those right before the last one of Base, to compare heads with; nil: none
	First   uint64         // the first record that is in the store (default the one after the newest snapshot, or the log's first)
	Head    txlog.Head     // the newest one that is stored; zero: none
	Bridges []Bridge       // that are stored, by index
	Offers  []Offer        // of the snapshots that are stored, the older first
	Seed    uint64         // of the choice among peers; random, for each start

	SnapshotAfter uint64 // records behind which a peer is offered a snapshot instead (default 5,000)
	SnapshotEvery uint64 // records from one snapshot to the next (default 10,000); not at a member

	// Tests have others.
	breadth   int           // peers that are asked for a small record at first: the one that told of it, and others
	poll      time.Duration // after which a peer is asked for news although no head was heard
	mostBytes int           // bytes of records that wait
	mostGiven int           // times that a record is given while it is young: others have it by then
}

func (c Config) withDefaults() Config {
	c.SnapshotAfter = cmp.Or(c.SnapshotAfter, 5000)
	c.SnapshotEvery = cmp.Or(c.SnapshotEvery, 10_000)
	c.breadth = cmp.Or(c.breadth, 2)
	c.poll = cmp.Or(c.poll, 30*time.Second)
	c.mostBytes = cmp.Or(c.mostBytes, 128<<20)
	c.mostGiven = cmp.Or(c.mostGiven, 24)
	return c
}

// Validate returns an error that lists every fault.
func (c Config) Validate() error {
	c = c.withDefaults()
	f := faults.List{Of: "follower: "}
	f.Add(c.Self == "", "this node's name is missing")
	f.Add(c.Base == nil, "a copy is required")
	f.Add(c.New == nil, "a state machine is required")
	return f.All()
}

const (
	round         = 100 * time.Millisecond
	usualPatience = 40 * time.Millisecond // after which another peer is asked, at least: twice as long as answers travel, if that is longer
	mostPatience  = 5 * time.Second       // between two tries to get one thing
	holdFor       = 2 * time.Second       // for which a request waits for what is not here yet
	mostHeld      = 256                   // requests that wait at one time, and an eighth of them of one peer
	mostEarly     = 4096                  // records that wait for a head or for those before them
	flood         = 16                    // requests and answers that a peer may send in a round, and eight times as many at once
	firstPatience = time.Second           // until another peer is asked the first time, at most
	piecePatience = time.Second           // until a piece of a snapshot is asked of another peer the first time
	barredFor     = 10 * time.Second      // a peer that has lied is not asked, the first time
	leastWary     = time.Second           // nothing is pulled after a fork, or after an entry that never fits, the first time
	mostWary      = 5 * time.Minute
	probes        = 5 * time.Second  // between two questions to one peer about heads of strangers, and between two about how far the log is
	expires       = 30 * time.Second // after which an answer is no answer any more
	parkedFor     = 10 * time.Second // after which a gap is told
	doubted       = time.Second      // after which a head that the copy has not come to may be a lie
	probation     = 10 * time.Second // for which a head does not count whose member was denied before: longer than it takes to deny it
	woken         = time.Second / 5  // after which others are asked for what nobody has given, when there is a new head
	abreast       = 3                // peers that are asked at one time, after the first ones (B9)
	window        = 8                // pieces of a snapshot that are asked for at one time
	snapshots     = 2                // that are kept
	young         = 5 * time.Second  // for which a record is given only so often
	mostKnown     = 1024             // peers
	mostForks     = 16               // heads that contradict the copy, which are remembered so that each is told once
	mostLacking   = 16               // changes of members without a bridge
	mostBridges   = 4800             // as many as a store has room for
	mostAsks      = 256              // requests whose answers may still come
	mostWants     = 64               // ranges of records
	mostCovers    = 256              // heads of what was applied, which are given with recent records
	mostMarks     = 4096             // positions to which heads of the past are compared
	mostRecent    = 1024             // records that are given from memory
	small         = 4 << 10          // bytes of a record that costs no more than to be asked for
	recentBytes   = 4 << 20
	mostClaims    = 16 // of one member: verified heads of what is not applied yet
	mostPool      = 128
	mostAside     = 16 // of one member: heads that were denied
	mostStrange   = 16 // heads that nobody known has signed
)
