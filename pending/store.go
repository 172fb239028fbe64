package pending

import (
	"context"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// Store keeps the intents and slots of accounts. Anyone may read. Writing needs the current token:
// with any other, a method returns an error that wraps [fence.ErrStale] and changes nothing. It
// must be safe for concurrent use; package pendingtest tests a Store.
type Store interface { //nolint:interfacebloat // what one leader's loop asks of its rows
	// Load returns the account's slots that are not final, and the final ones from a nonce on. Beyond the most
	// with the highest nonces, those that are not final and stored as in a block come as Runs.
	Load(ctx context.Context, account chain.Account, from uint64, most int) (Snapshot, error)
	// Slots returns the slots with nonces from first to last, final or not.
	Slots(ctx context.Context, account chain.Account, first, last uint64) ([]Slot, error)
	// Queue returns up to most of the oldest intents that wait for a slot. In relaxed order those are left out that
	// are put off until later, by a minute at most (else the clock was ahead when they were), and Saving is set.
	Queue(ctx context.Context, account chain.Account, relaxed bool, most int) (Queue, error)
	// Alike returns the oldest intent that waits for a slot, put off or not, and has one of the calls, with any limit of
	// gas; the zero ID if none has.
	Alike(ctx context.Context, account chain.Account, calls []chain.Call) (ID, error)
	// Waiting returns what waits.
	Waiting(ctx context.Context, account chain.Account) (Waits, error)
	// Calls returns the calls of the intents in these slots.
	Calls(ctx context.Context, account chain.Account, indices []uint64) (map[uint64]chain.Call, error)
	// Write stores a batch in one transaction that the token fences. It returns an error that wraps
	// [ErrOvertaken], and stores nothing, if an intent that gets a slot no longer waits for one.
	// After any other error but fence.ErrStale the batch may have been stored.
	Write(ctx context.Context, t fence.Token, b Batch) error
	// Settle waits until no write of the token with a lower number is still to be carried out.
	Settle(ctx context.Context, t fence.Token, account chain.Account, number uint64) error
}

// Archiver is a [Store] that can move finished intents to an archive.
type Archiver interface {
	// Archive moves up to most of the account's oldest finished intents of that age (by the store's
	// clock), with their slots. Their IDs and keys are still found. The token fences it.
	Archive(ctx context.Context, t fence.Token, account chain.Account, age time.Duration, most int) (moved int, err error)
}

// Waits is what of an account waits.
type Waits struct {
	Queued  int      // intents without a slot, but those that are put off until later; a store may stop counting
	Cancels []uint64 // nonces of open slots whose intent is to be cancelled; Load leaves them out
	// Of those that are put off, the ones that have waited for money for more than a minute, and those that a node
	// refuses with an error that the driver does not know.
	Poor, Unclear int
}

// Batch is the content of one write.
type Batch struct {
	Account chain.Account
	// Number rises from write to write of a term. A write that is carried out late leaves alone the
	// slots that a later write, of this term or another, has changed.
	Number   uint64
	New      []Slot // new slots, with their first attempts
	Attempts []Slot // new attempts of existing slots; refused unless Before attempts are stored
	Changes  []Change
	Rejects  []Hold // ends intents that still wait, and passes over others
	Expired  []ID   // likewise; one that has a slot is marked as called back
	Held     []Held // likewise of intents that still wait
	Hold     *Hold  // replaces the account's; nil leaves it
	Opens    *Life  // the account's next life, which is the newest from then on; nil: none begins
}
