package pending

import (
	"context"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// Store keeps intents and slots. Reading needs no leadership; writing does, and the
// store itself refuses a token that is not the current one, with an error that wraps
// fence.ErrStale; and a slot for an intent that does not wait, with one that wraps
// ErrOvertaken. Any other error of Write leaves open whether it happened.
type Store interface { //nolint:interfacebloat // what one leader's loop asks of its rows
	// Load returns all slots of the account that are not final, and all with an index
	// of at least from.
	Load(ctx context.Context, account chain.Account, from uint64) (Snapshot, error)
	// Queue returns the oldest intents that wait for a slot, and how many more wait.
	Queue(ctx context.Context, account chain.Account, most int) (oldest []Intent, left int, err error)
	// Waiting counts the intents that wait, and names the open slots whose intent is
	// to be cancelled.
	Waiting(ctx context.Context, account chain.Account) (queued int, cancels []uint64, err error)
	// Calls returns what the intents in these slots want to have done.
	Calls(ctx context.Context, account chain.Account, indices []uint64) (map[uint64]chain.Call, error)
	// Write stores a batch in one transaction that the token fences.
	Write(ctx context.Context, t fence.Token, b Batch) error
	// Settle ends all doubt about the token's writes with lower numbers: once it returns
	// they have happened, or they never will.
	Settle(ctx context.Context, t fence.Token, account chain.Account, number uint64) error
}

// Archiver is a store that can move what is finished out of the way.
type Archiver interface {
	// Archive moves the account's oldest finished intents with their slots, at most that
	// many, if they are older than that by the store's own clock; it returns how many it
	// moved. They are found as before, by their IDs and keys. The token fences it.
	Archive(ctx context.Context, t fence.Token, account chain.Account, older time.Duration, most int) (moved int, err error)
}

// Batch is what one transaction writes.
type Batch struct {
	Account chain.Account
	// Number rises from write to write of a term: what comes late changes no slot that
	// one with a higher number, or one of a later term, has changed.
	Number   uint64
	New      []Slot // with their intents and first attempts
	Attempts []Slot // further ones for slots that exist, refused if others were stored meanwhile
	Changes  []Change
	Rejects  []Reject // intents that never get a slot
}

// Reject ends an intent without a slot.
type Reject struct {
	Intent ID
	Why    string
}
