package pgstore

import (
	"time"

	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
	"github.com/conchhq/conch/txlog/internal/limits"
)

// Config configures a [Member]. What has no default is required.
type Config struct {
	Self string             // this node's name
	Log  txlog.ID           // as Create was told
	New  func() txlog.State // makes an empty state, of the genesis' machine
	// Trouble is called with the error of each try that has failed and is made again; nil: nobody wants to know.
	Trouble func(error)
	Poll    time.Duration // from one look for new entries to the next if no notification comes (default 1s)
}

// Validate returns an error that lists every fault.
func (c Config) Validate() error {
	f := faults.List{Of: "txlog/pgstore: "}
	f.Add(c.Self == "" || len(c.Self) > limits.MostName, "a member's name has 1 to %d bytes", limits.MostName)
	f.Add(c.Log.IsZero(), "the log is missing: Genesis.ID names it")
	f.Add(c.New == nil, "a maker of states is required")
	f.Add(c.Poll < 0, "the time between two looks is below 0")
	return f.All()
}

// settings are those of an authority.
type settings struct {
	// At is the place up to which the user knows the log: the facts begin after it. Genesis.Start is the log's beginning.
	At txlog.Position
	// Tell is called with each fact, in order, from one goroutine. It may call the authority's methods, but not wait for them.
	Tell func(authority.Fact)
	// Trouble is called with the error of each try that has failed and is made again, from the same goroutine; nil: nobody
	// wants to know.
	Trouble func(error)
	Poll    time.Duration
}

const (
	firstPause   = 50 * time.Millisecond // after a failed try; each further one waits for twice as long
	longestPause = 2 * time.Second
	mostRecords  = 500     // in one write and one read
	mostBytes    = 8 << 20 // of their records, if there is more than one
	// patience limits one try. A commit that takes longer counts as one without an answer.
	patience = 30 * time.Second
)

// withDefaults returns the configuration with its zero fields set.
func (c settings) withDefaults() settings {
	if c.Poll == 0 {
		c.Poll = time.Second
	}
	if c.Trouble == nil {
		c.Trouble = func(error) {}
	}
	return c
}

// check returns an error that lists every fault.
func (c settings) check() error {
	f := faults.List{Of: "txlog/pgstore: "}
	f.Add(c.At.Log.IsZero() || c.At.Hash.IsZero(), "the place in the log is missing: it begins with Genesis.Start")
	f.Add(c.Tell == nil, "nobody hears the facts: Tell is missing")
	f.Add(c.Poll < 0, "the time between two looks is below 0")
	return f.All()
}
