package courier

import (
	"cmp"
	"time"

	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
)

// Config configures a [Machine]. What has no default is required.
type Config struct {
	Self        string        // this node's name, as members name a leader
	Timeout     time.Duration // for which an answer is waited for before three neighbours are asked and the goal is sent again (B8; default 15s)
	MostWaiting int           // goals that wait (default 1000)

	// Known looks a goal up in the node's own copy: txlog.Copy.Admit. It changes nothing. nil: there is no copy.
	Known func(goalID string, goal []byte, since uint64) (known txlog.Result, found bool, err error)

	expiry time.Duration // for which a goal is tried (a minute; tests have another one)
}

// firstPause comes before a second try; it doubles up to 20 times itself.
const firstPause = 100 * time.Millisecond

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 15*time.Second)
	c.MostWaiting = cmp.Or(c.MostWaiting, 1000)
	c.expiry = cmp.Or(c.expiry, time.Minute)
	return c
}

// Validate returns an error that lists every fault.
func (c Config) Validate() error {
	c = c.withDefaults()
	f := faults.List{Of: "courier: "}
	f.Add(c.Self == "" || len(c.Self) > limits.MostName, "a node's name has 1 to %d bytes", limits.MostName)
	f.Add(c.Timeout < 0, "a timeout is below 0")
	f.Add(c.MostWaiting < 0, "a limit is below 0")
	return f.All()
}
