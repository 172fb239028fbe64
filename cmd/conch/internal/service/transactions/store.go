package transactions

import (
	"context"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

// store keeps the transactions of one chain, in Postgres or in memory. An account's manager has the
// part of it that is pending.Store.
type store interface {
	pending.Store
	intake
	reader
}

// intake takes what callers ask for. Any node may call it.
type intake interface {
	Accept(ctx context.Context, in pending.Intent) (pending.Intent, error)
	Cancel(ctx context.Context, id pending.ID) error
	SayOver(ctx context.Context, account chain.Account, number uint64) error
}

// reader shows what is stored.
type reader interface { //nolint:interfacebloat // one for each way to look
	Get(ctx context.Context, id pending.ID) (pending.Record, error)
	List(ctx context.Context, f pending.Filter) ([]pending.Record, error)
	Counts(ctx context.Context) ([]pending.Count, error)
	Attempts(ctx context.Context, account chain.Account, index uint64) ([]pending.Attempt, error)
	Backlog(ctx context.Context, account chain.Account) (pending.Backlog, error)
	Life(ctx context.Context, account chain.Account) (pending.Life, error)
	Unfinished(ctx context.Context, account chain.Account, space string, to []byte) ([]pending.Record, error)
}

// chainStore is the store of one chain.
type chainStore struct {
	id string // of the chain
	store
}
