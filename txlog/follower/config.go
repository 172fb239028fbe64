package follower

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/conchhq/conch/txlog"
)

// Config configures a [Machine]. What has no default is required.
type Config struct {
	Self    string
	Base    *txlog.Copy // as the store has it. A machine that follows owns it
	New     func() txlog.State
	Member  bool       // a member applies; the machine follows only after Follow
	First   uint64     // the first record that is in the store (default the one after the newest snapshot, or the log's first)
	Head    txlog.Head // the newest one that is stored; zero: none
	Bridges []Bridge   // that are stored, by index
	Offers  []Offer    // of the snapshots that are stored, the older first
	Seed    uint64     // of the choice among peers; random, for each start

	Patience      time.Duration // after which another peer is asked, at least: twice as long as answers travel, if that is longer (default 40ms)
	Breadth       int           // peers that are asked for a small record at first: the one that told of it, and others (default 2)
	MostPatience  time.Duration // between two tries to get one thing (default 5s)
	Hold          time.Duration // for which a request waits for what is not here yet (default 2s)
	Poll          time.Duration // after which a peer is asked for news although no head was heard (default 30s)
	MostHeld      int           // requests that wait at one time (default 256), and an eighth of them of one peer
	MostEarly     int           // records that wait for a head or for those before them (default 4,096)
	MostBytes     int           // bytes of such records (default 128 MB)
	MostGiven     int           // times that a record is given while it is young (default 24): others have it by then
	SnapshotAfter uint64        // records behind which a peer is offered a snapshot instead (default 5,000)
	SnapshotEvery uint64        // records from one snapshot to the next (default 10,000); not at a member
	Flood         int           // requests and answers that a peer may send in 100 ms (default 16), and eight times as many at once

	// Break is a rule to leave out, for proofs that something falls without it. It is for tests alone.
	Break Rule
}

func (c Config) withDefaults() Config {
	c.Patience = cmp.Or(c.Patience, 40*time.Millisecond)
	c.Breadth = cmp.Or(c.Breadth, 2)
	c.MostPatience = cmp.Or(c.MostPatience, 5*time.Second)
	c.Hold = cmp.Or(c.Hold, 2*time.Second)
	c.Poll = cmp.Or(c.Poll, 30*time.Second)
	c.MostHeld = cmp.Or(c.MostHeld, 256)
	c.MostEarly = cmp.Or(c.MostEarly, 4096)
	c.MostBytes = cmp.Or(c.MostBytes, 128<<20)
	c.MostGiven = cmp.Or(c.MostGiven, 24)
	c.SnapshotAfter = cmp.Or(c.SnapshotAfter, 5000)
	c.SnapshotEvery = cmp.Or(c.SnapshotEvery, 10_000)
	c.Flood = cmp.Or(c.Flood, 16)
	return c
}

// Validate returns an error that lists every fault.
func (c Config) Validate() error {
	c = c.withDefaults()
	var faults []error
	fault := func(is bool, text string, args ...any) {
		if is {
			faults = append(faults, fmt.Errorf("follower: "+text, args...))
		}
	}
	fault(c.Self == "", "this node's name is missing")
	fault(c.Base == nil, "a copy is required")
	fault(c.New == nil, "a state machine is required")
	fault(c.Patience < 0 || c.MostPatience < c.Patience || c.Hold < 0 || c.Poll < 0, "a time is below 0, or the most patience below the first")
	fault(c.MostHeld < 8, "%d requests wait: 8 at least", c.MostHeld)
	fault(c.MostEarly < MostRecords, "%d records wait: those of one answer are %d", c.MostEarly, MostRecords)
	fault(c.MostBytes < 2*txlog.MostRecord, "%d bytes of records wait: two records have %d", c.MostBytes, 2*txlog.MostRecord)
	fault(c.MostGiven < 1, "no record is given to anybody")
	fault(c.Flood < 1, "a peer may send nothing")
	return errors.Join(faults...)
}

const (
	round         = 100 * time.Millisecond
	firstPatience = time.Second      // until another peer is asked the first time, at most
	piecePatience = time.Second      // until a piece of a snapshot is asked of another peer the first time
	barredFor     = 10 * time.Second // a peer that has lied is not asked, the first time
	leastWary     = time.Second      // nothing is pulled after a fork, or after an entry that never fits, the first time
	mostWary      = 5 * time.Minute
	probes        = 5 * time.Second  // between two questions to one peer about heads of strangers
	expires       = 30 * time.Second // after which an answer is no answer any more
	parkedFor     = 10 * time.Second // after which a gap is told
	abreast       = 3                // peers that are asked at one time, after the first ones (B9)
	window        = 8                // pieces of a snapshot that are asked for at one time
	snapshots     = 2                // that are kept
	young         = 5 * time.Second  // for which a record is given only so often
	mostKnown     = 1024             // peers
	mostForks     = 16               // heads that contradict the copy, which are remembered so that each is told once
	mostLacking   = 16               // changes of members without a bridge
	mostAsks      = 256              // requests whose answers may still come
	mostWants     = 64               // ranges of records
	mostCovers    = 256              // heads of what was applied, which are given with recent records
	mostMarks     = 4096             // positions to which heads of the past are compared
	mostRecent    = 1024             // records that are given from memory
	small         = 4 << 10          // bytes of a record that costs no more than to be asked for
	recentBytes   = 4 << 20
	mostPool      = 16 // verified heads of what is not applied yet
	mostStrange   = 16 // heads that nobody known has signed
)
