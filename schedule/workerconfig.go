package schedule

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/schedule/internal/worker"
)

const (
	mostSlots = 100_000
	mostDrain = time.Hour
)

// WorkerConfig configures a [Worker].
type WorkerConfig struct {
	Queues   []string           // default: "default"
	Slots    int                // how many jobs it has at a time under one post (default 10)
	Drain    time.Duration      // how long handlers may go on when it is to end (default 10 s)
	Handlers map[string]Handler // by the name that a job gives
	Calls    map[string]Call    // commands and addresses by the name that a job gives, as Handlers
	Commands Runner             // nil: jobs that are commands are left to other workers
	Hooks    *Hooks             // nil: jobs that are addresses are

	Tell  func(Event) // is told how attempts end, from any goroutine (default: nobody is)
	Clock fence.Clock // that of the gate (default: the system's)
}

// WithDefaults returns the configuration with all fields set.
func (c WorkerConfig) WithDefaults() WorkerConfig {
	c.Slots, c.Drain = cmp.Or(c.Slots, 10), cmp.Or(c.Drain, 10*time.Second)
	if c.Queues == nil {
		c.Queues = []string{"default"}
	}
	if c.Tell == nil {
		c.Tell = func(Event) {}
	}
	if c.Clock == nil {
		c.Clock = fence.Boottime
	}
	if c.Hooks != nil {
		hooks := *c.Hooks
		if hooks.Transport == nil {
			hooks.Transport = newTransport(c.Slots)
		}
		if hooks.Now == nil {
			hooks.Now = time.Now
		}
		c.Hooks = &hooks
	}
	return c
}

// kinds lists which kinds of handlers the worker has; never nil.
func (c WorkerConfig) kinds() []string {
	all := []string{}
	if len(c.Handlers)+len(c.Calls) > 0 {
		all = append(all, worker.KindJob)
	}
	if c.Commands != nil {
		all = append(all, worker.KindCommand)
	}
	if c.Hooks != nil {
		all = append(all, worker.KindHTTP)
	}
	return all
}

// Validate returns an error that lists every fault of a configuration with defaults.
func (c WorkerConfig) Validate() error {
	f := faults.List{Of: "worker: "}
	f.Add(len(c.Queues) == 0, "no queue")
	for i, q := range c.Queues {
		f.Add(q == "" || len(q) > MostName, "the queue %q: 1 to %d bytes", q, MostName)
		f.Add(slices.Contains(c.Queues[:i], q), "the queue %q twice", q)
	}
	f.Add(c.Slots < 1 || c.Slots > mostSlots, "slots %d: 1 to %d", c.Slots, mostSlots)
	f.Add(c.Drain < 0 || c.Drain > mostDrain, "drain %s: 0 to %s", c.Drain, mostDrain)
	for name, h := range c.Handlers {
		f.Add(name == "" || h == nil, "the handler %q: want a name and a function", name)
	}
	for name, call := range c.Calls {
		f.Add(name == "" || c.Handlers[name] != nil, "the handler %q: want a name, and one of each", name)
		if err := call.Validate(); err != nil {
			f.Add(true, "the handler %q: %w", name, err)
		}
	}
	if h := c.Hooks; h != nil {
		f.Add(len(h.Key) < leastKey, "hooks: the key has %d bytes: %d at least", len(h.Key), leastKey)
		f.Add(len(h.Hosts) == 0, "hooks: no host")
	}
	return f.All()
}
