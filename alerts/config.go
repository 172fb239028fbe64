package alerts

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/alerts/internal/core"
	"github.com/conchhq/conch/alerts/internal/watch"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/internal/name"
)

// Timeout is how long a receiver may take for its answer. The lease under which alerts are evaluated must be longer, by its margin and a heartbeat: see [DefaultHold].
const Timeout = core.Timeout

// DefaultHold is the lease under which alerts are evaluated.
const DefaultHold = 15 * time.Second

// MostName is how many bytes the names of clusters, rules and receivers have at most: of two of them is a key made, of which receivers take 255.
const MostName = 100

// Config configures an [Evaluator] and a [Watcher], which have the same file.
type Config struct {
	Cluster   string        // part of each key: no two clusters that tell one receiver have the same
	Node      string        // this process
	Hash      string        // of all rules and receivers, with what the wing does not know of them
	Interval  time.Duration // between two evaluations, and two reports (default 15 s)
	Hold      time.Duration // the lease under which alerts are evaluated (default 15 s)
	Lease     time.Duration // of the other leaders of this node: twice as long, and 30 s at least, the database may be away before a node says so (default 3 s)
	Keep      time.Duration // for how long samples are kept: the longest range of a rule and 5 minutes (default 15 minutes)
	Rules     []Rule
	Receivers []Receiver

	Notice func(Event) // is told what happens, from any goroutine (default: nobody is)
	Clock  fence.Clock // counts suspended time and never goes back (default: the system's)
}

// WithDefaults returns the configuration with all fields set.
func (c Config) WithDefaults() Config {
	c.Interval, c.Hold, c.Lease = cmp.Or(c.Interval, 15*time.Second), cmp.Or(c.Hold, DefaultHold), cmp.Or(c.Lease, 3*time.Second)
	c.Keep = cmp.Or(c.Keep, 15*time.Minute)
	if c.Notice == nil {
		c.Notice = func(Event) {}
	}
	if c.Clock == nil {
		c.Clock = fence.Boottime
	}
	return c
}

// Validate returns an error that lists every fault of a configuration with defaults.
func (c Config) Validate() error {
	f := faults.List{Of: "alerts: "}
	named := func(what, text string) {
		fault := name.Fault(text)
		f.Add(text == "" || len(text) > MostName, "the name %q of a %s: 1 to %d bytes", text, what, MostName)
		f.Add(text != "" && fault != "", "the name %q of a %s %s", text, what, fault)
	}
	named("cluster", c.Cluster)
	named("node", c.Node)
	f.Add(c.Interval < time.Second, "interval %s: a second at least", c.Interval)
	f.Add(c.Hold < Timeout, "hold %s: longer than the %s that a receiver may take", c.Hold, Timeout)
	f.Add(c.Keep < c.Interval, "keep %s: longer than the interval %s", c.Keep, c.Interval)
	receivers, rules := map[string]bool{}, map[string]bool{}
	for _, r := range c.Receivers {
		named("receiver", r.Name)
		f.Add(receivers[r.Name], "the receiver %q twice", r.Name)
		f.Add(r.Kind > Level, "receiver %q: no kind %d", r.Name, r.Kind)
		receivers[r.Name] = true
	}
	for _, r := range c.Rules {
		named("rule", r.Name)
		f.Add(rules[r.Name], "the rule %q twice", r.Name)
		f.Add(r.For < 0 || r.Keep < 0, "rule %q: for %s and keep_firing_for %s: 0 or more", r.Name, r.For, r.Keep)
		for _, to := range slices.Compact(slices.Sorted(slices.Values(r.Notify))) {
			f.Add(!receivers[to], "rule %q: there is no receiver %q", r.Name, to)
		}
		rules[r.Name] = true
	}
	return f.All()
}

func (c Config) core() core.Config {
	return core.Config{Cluster: c.Cluster, Node: c.Node, Interval: c.Interval, Hold: c.Hold, Hash: c.Hash, Rules: c.Rules, Receivers: c.Receivers}
}

// watch: nobody evaluates while another leader takes over, which takes twice the lease and more.
func (c Config) watch() watch.Config {
	return watch.Config{
		Cluster: c.Cluster, Node: c.Node, Interval: c.Interval, Rules: c.Rules, Receivers: c.Receivers,
		Delay: max(2*c.Lease, 30*time.Second), Idle: 3 * max(c.Interval, c.Hold),
	}
}
