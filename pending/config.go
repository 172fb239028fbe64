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
	// What the machine decides by; what is 0 comes from the defaults and from the chain's
	// description. Heights are counted in blocks.
	MaxInFlight int // slots that are not in the chain
	MaxBatch    int // attempts that are sent, slots that are signed for, hashes that are looked up at once
	ResendAfter uint64
	RaiseAfter  uint64
	FillAfter   uint64
	MostRaise   int64         // a slot's attempts never pay more than that many times the first
	FinalAfter  uint64        // a transaction in a block for longer, and not final, is said to time out (S24)
	Retry       time.Duration // the pause after something that failed
	Patience    time.Duration // how long without a block before the pool is looked at anyway
	Pace        time.Duration // how long between two writes of what became of slots, while much is under way
	// Sequence numbers the writes. Managers that lead one scope in one term after each other share one;
	// nil is one for this Manager alone.
	Sequence *Sequence
	// Longest bounds one exchange with the store or the node (default 10s).
	Longest time.Duration
	// Repair is how often the store is asked for what a lost notification would have
	// said (default 1s).
	Repair time.Duration
	Events Events
	Clock  fence.Clock // default fence.Boottime
}

func (c Config) withDefaults(d chain.Description) Config {
	fill(&c.MaxInFlight, 4000)
	if d.MaxPending > 0 {
		c.MaxInFlight = min(c.MaxInFlight, d.MaxPending)
	}
	fill(&c.MaxBatch, 500)
	if d.MaxBatch > 0 {
		c.MaxBatch = min(c.MaxBatch, d.MaxBatch)
	}
	fill(&c.ResendAfter, 3)
	fill(&c.RaiseAfter, 5)
	fill(&c.FillAfter, 10)
	fill(&c.MostRaise, 10)
	fill(&c.FinalAfter, d.Depth+512) // as long as Substrate's nodes wait before they say so
	fill(&c.Retry, 250*time.Millisecond)
	fill(&c.Patience, 2*time.Second)
	fill(&c.Pace, time.Second)
	fill(&c.Longest, 10*time.Second)
	fill(&c.Repair, time.Second)
	if c.Clock == nil {
		c.Clock = fence.Boottime
	}
	return c
}

// settings are what the machine needs to know of it.
func (c Config) settings() settings {
	return settings{
		MaxInFlight: c.MaxInFlight, MaxBatch: c.MaxBatch, ResendAfter: c.ResendAfter, RaiseAfter: c.RaiseAfter, FillAfter: c.FillAfter,
		MostRaise: c.MostRaise, FinalAfter: c.FinalAfter, Retry: c.Retry, Patience: c.Patience, Pace: c.Pace,
	}
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
	if c.MaxInFlight < 0 || c.MaxBatch < 0 || c.Retry < 0 || c.Patience < 0 || c.Pace < 0 || c.Longest < 0 || c.Repair < 0 || c.ArchiveAfter < 0 {
		faults = append(faults, errors.New("counts and durations cannot be negative"))
	}
	return errors.Join(faults...)
}
