package sequencer

import (
	"context"
	"time"

	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Store is a node's database. It is safe for concurrent use. Package pgstore has one in Postgres, and package sequencertest one in
// memory; both pass the suite internal/storetest. A store keeps rows of the machines, so another one is written beside these two.
//
// What is stored, and nothing else (P41): intents, grants, what was noted of dispatches, and results (as their owner);
// rows of dispatches (as a coordinator); what is final of the states, and the contents of attempts that were granted or
// have landed, for members that lack them. What has ended long ago is forgotten ([Store].Trim).
type Store interface { //nolint:interfacebloat // what a database has to do, and nothing else
	// Load returns what is stored of a contract.
	Load(ctx context.Context, contract string) (core.Stored, error)
	// Write makes changes durable in one transaction, in order. It returns the intents that were not stored since their
	// keys have rows already. With an error nothing was written, or the caller cannot know: the same changes may be
	// written again, and change nothing the second time. After an error that wraps ErrOver the node stops.
	Write(ctx context.Context, changes []core.Change) (twice []core.Twice, err error)
	// Find returns an intent by its user's key, and false if there is none.
	Find(ctx context.Context, contract, key string) (Found, bool, error)
	// List returns intents of the node's users, the newest first.
	List(ctx context.Context, contract string, f Filter) ([]Found, error)
	// Attempts returns the contents of those of the attempts that are stored.
	Attempts(ctx context.Context, contract string, assembled []ledger.Hash) ([]wire.Whole, error)
	// Trim forgets up to most intents, and the contents of up to most attempts besides, that have ended for longer than is
	// said for their contracts, by the store's clock. It never forgets an intent that is open; contents that a grant of an
	// open intent or a dispatch names; contents that have landed and that the book has not called Spent. Like Write it is
	// refused with ErrOver. After any other error some may be forgotten.
	Trim(ctx context.Context, ages map[string]time.Duration, most int) (Trimmed, error)
}

// Trimmed is how much was forgotten.
type Trimmed struct {
	Intents  int // with their keys and grants
	Attempts int // contents of those that have landed, or that a coordinator has dispatched
}

// Found is an intent as it is stored.
type Found struct {
	Sequence ledger.Sequence
	Key      string // its user's
	Payload  []byte
	Deadline uint64    // a block; 0: none
	Number   uint64    // rises with each intent of the contract; from 1
	Accepted time.Time // by the store's clock
	Ended    bool
	Result   ledger.Result // if it has ended
}

// Filter says which intents to list. What is zero does not limit.
type Filter struct {
	Sequence ledger.Sequence // the one with this number
	Before   uint64          // only those with a lower Number
	Most     int             // 100 if 0
}
