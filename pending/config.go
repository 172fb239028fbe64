package pending

import (
	"errors"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// Config is one account's pending transactions. The zero value of what is optional
// means its default.
type Config struct {
	Account chain.Account
	Chain   chain.Chain
	Store   Store
	// MostFee is the highest fee that may be paid; the zero Fee means any.
	MostFee chain.Fee
	// ArchiveAfter is how long finished intents stay among the others before they are
	// moved to the store's archive, if it is an Archiver; 0: for ever.
	ArchiveAfter time.Duration
	// Settings of the machine; what is 0 comes from the defaults and from the chain's
	// description.
	Settings Settings
	// Longest bounds one exchange with the store or the node (default 10s).
	Longest time.Duration
	// Repair is how often the store is asked for what a lost notification would have
	// said (default 1s).
	Repair time.Duration
	Events Events
	Clock  fence.Clock // default fence.Boottime
}

// Events are facts for logs, metrics and people. All are optional and must not block.
type Events struct {
	// Alarm is called by one goroutine, in order.
	Alarm func(a Alarm)
	// Refused is a send that the gate refused (S17).
	Refused func(err error)
	// Trouble is what is tried again. It may be called by several goroutines at once.
	Trouble func(err error)
}

func (c Config) withDefaults(d chain.Description) Config {
	set := &c.Settings
	fill(&set.MaxInFlight, 4000)
	if d.MaxPending > 0 {
		set.MaxInFlight = min(set.MaxInFlight, d.MaxPending)
	}
	fill(&set.MaxBatch, 500)
	if d.MaxBatch > 0 {
		set.MaxBatch = min(set.MaxBatch, d.MaxBatch)
	}
	fill(&set.ResendAfter, 3)
	fill(&set.RaiseAfter, 5)
	fill(&set.FillAfter, 10)
	fill(&set.MostRaise, 10)
	fill(&set.FinalAfter, d.Depth+512) // as long as Substrate's nodes wait before they say so
	fill(&set.Retry, 250*time.Millisecond)
	fill(&set.Patience, 2*time.Second)
	fill(&set.Pace, time.Second)
	fill(&c.Longest, 10*time.Second)
	fill(&c.Repair, time.Second)
	if c.Clock == nil {
		c.Clock = fence.Boottime
	}
	return c
}

func fill[T comparable](v *T, standard T) {
	var zero T
	if *v == zero {
		*v = standard
	}
}

// Validate names every fault.
func (c Config) Validate() error {
	var faults []error
	if c.Account == "" {
		faults = append(faults, errors.New("no account is named"))
	}
	if c.Chain == nil {
		faults = append(faults, errors.New("no chain is given"))
	}
	if c.Store == nil {
		faults = append(faults, errors.New("no store is given"))
	}
	set := c.Settings
	if set.MaxInFlight < 0 || set.MaxBatch < 0 || set.Retry < 0 || set.Patience < 0 || set.Pace < 0 || c.Longest < 0 || c.Repair < 0 || c.ArchiveAfter < 0 {
		faults = append(faults, errors.New("counts and durations cannot be negative"))
	}
	return errors.Join(faults...)
}
