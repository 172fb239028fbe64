package pending

import (
	"cmp"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/faults"
)

// Config configures the [Manager] of one account. Account, Chain and Store are required; a zero
// value elsewhere means the default.
type Config struct {
	Account chain.Account
	Chain   chain.Chain
	Store   Store
	// MostFee is the highest fee that an attempt may offer (default: no limit). One that carries a call
	// stops at 4/5 of it: the rest is for the attempt that cancels it.
	MostFee chain.Fee
	// ArchiveAfter is the age at which an [Archiver] archives finished intents (default: never).
	ArchiveAfter time.Duration

	// Relaxed lets intents pass one that cannot be paid, estimated or understood. By default none gets a slot before
	// all that were accepted earlier, since a call may depend on an earlier one.
	Relaxed bool
	// MaxInFlight limits the slots that are not in a block (default 4000, at most the chain's). Fewer are signed and
	// sent as long as the node is not known to take so many.
	MaxInFlight int
	// MaxBatch limits what is signed, sent or looked up at once (default 500, at most the chain's).
	MaxBatch int
	// ResendAfter is the number of blocks between searches for dropped attempts (default 3).
	ResendAfter uint64
	// RaiseAfter is how long attempts may wait in a pool, while at least three blocks come, before they pay more if
	// the chain asks for more (default 30s; below 0: never).
	RaiseAfter time.Duration
	// FillAfter is the number of blocks without progress before a gap is filled (default 10).
	FillAfter uint64
	// MostRaise limits the fee of a slot, as a multiple of its first attempt's (default 10).
	MostRaise int64
	// FinalAfter is how long a transaction is in a block before [FinalityTimeout] (default 1h; below 0: never).
	FinalAfter time.Duration
	// SearchAfter is the number of blocks for which the chain has to count a nonce as used, and no
	// attempt is found, before blocks are searched for its transaction (default 12).
	SearchAfter uint64
	// SharedKey says that others send from the account too. Otherwise transactions that the store does
	// not know stop the account until they are read; see [Ahead]. Where accounts have lives, [Manager.Lead] refuses it: old
	// transactions of the others could use up the nonces below ours once more.
	SharedKey bool
	// Again says of a call that it does no harm when it is done twice, since its contract takes it once. An intent with
	// such a call goes on after the store has lost rows; any other that may be done already waits for a person, see
	// [Ahead] (default: no call). It must be safe for concurrent use, and always say the same.
	Again func(chain.Call) bool
	// RestoreWait is how long no nonce is assigned after the database was restored or failed over,
	// since transactions whose rows were lost may be in a pool (default 10min; below 0: not at all).
	RestoreWait time.Duration
	// RejectAfter is how long the chain has to refuse an intent's call before the intent is rejected,
	// over some blocks and with the account's earlier calls in blocks (default 15s).
	RejectAfter time.Duration
	// Retry is the pause after a failure (default 250ms).
	Retry time.Duration
	// Patience is how long to wait for a block that triggers work before going on (default 2s).
	Patience time.Duration
	// Pace is the least time between writes of slots' states while busy (default 1s).
	Pace time.Duration

	// Sequence numbers the writes; Managers of the same term must share one (default: a new one).
	Sequence *Sequence
	// Longest limits one exchange with the store or the chain (default 10s). Rows that take longer have more time when they
	// are read again.
	Longest time.Duration
	// Repair is how often the store is polled, in case [Manager.Wake] was not called (default 1s).
	Repair time.Duration
	Events Events
	Clock  fence.Clock // default fence.Boottime

	held       held          // the usual, but in tests
	stillAfter time.Duration // of the chain's Description
	era        uint64        // likewise
	noIndex    bool          // likewise
	lives      bool          // likewise
}

func (c Config) withDefaults(d chain.Description) Config {
	c.stillAfter, c.era, c.noIndex, c.lives = d.StillAfter, d.Era, d.NoIndex, d.Lives
	c.MaxInFlight = cmp.Or(c.MaxInFlight, 4000)
	if d.MaxPending > 0 {
		c.MaxInFlight = min(c.MaxInFlight, d.MaxPending)
	}
	c.MaxBatch = cmp.Or(c.MaxBatch, 500)
	if d.MaxBatch > 0 {
		c.MaxBatch = min(c.MaxBatch, d.MaxBatch)
	}
	c.ResendAfter = cmp.Or(c.ResendAfter, 3)
	c.RaiseAfter = cmp.Or(c.RaiseAfter, 30*time.Second)
	c.FillAfter = cmp.Or(c.FillAfter, 10)
	c.MostRaise = cmp.Or(c.MostRaise, 10)
	c.FinalAfter = cmp.Or(c.FinalAfter, time.Hour)
	c.SearchAfter = cmp.Or(c.SearchAfter, 12)
	c.RestoreWait = cmp.Or(c.RestoreWait, 10*time.Minute)
	c.RejectAfter = cmp.Or(c.RejectAfter, 15*time.Second)
	c.Retry = cmp.Or(c.Retry, 250*time.Millisecond)
	c.Patience = cmp.Or(c.Patience, 2*time.Second)
	c.Pace = cmp.Or(c.Pace, time.Second)
	c.Longest = cmp.Or(c.Longest, 10*time.Second)
	c.Repair = cmp.Or(c.Repair, time.Second)
	c.held = cmp.Or(c.held, usual)
	if c.Clock == nil {
		c.Clock = fence.Boottime
	}
	return c
}

func (c Config) settings() settings {
	return settings{
		MaxInFlight: c.MaxInFlight, MaxBatch: c.MaxBatch, ResendAfter: c.ResendAfter, RaiseAfter: c.RaiseAfter, FillAfter: c.FillAfter,
		MostRaise: c.MostRaise, FinalAfter: c.FinalAfter, SearchAfter: c.SearchAfter, SharedKey: c.SharedKey, Era: c.era, NoIndex: c.noIndex, Lives: c.lives, RestoreWait: c.RestoreWait, RejectAfter: c.RejectAfter, StillAfter: c.stillAfter, Relaxed: c.Relaxed, Retry: c.Retry, Patience: c.Patience, Pace: c.Pace,
		Held: c.held,
	}
}

// Validate returns an error that lists every fault of the configuration.
func (c Config) Validate() error {
	f := faults.List{Of: "pending: "}
	f.Add(c.Account == "", "no account is named")
	f.Add(c.Chain == nil, "no chain is given")
	f.Add(c.Store == nil, "no store is given")
	f.Add(c.MaxInFlight < 0 || c.MaxBatch < 0 || c.Retry < 0 || c.Patience < 0 || c.Pace < 0 || c.Longest < 0 || c.Repair < 0 || c.RejectAfter < 0 || c.ArchiveAfter < 0,
		"counts and durations cannot be negative")
	return f.All()
}
