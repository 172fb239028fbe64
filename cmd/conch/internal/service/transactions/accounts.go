package transactions

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// accounts is the registry of a node's accounts. The node accepts and shows transactions
// through it, whichever node leads their account. It is safe for concurrent use.
type accounts struct {
	id       string // of the node
	log      *slog.Logger
	database *pgmint.Config // nil in standalone mode: transactions are kept in memory
	keyring  *keyring
	beside   func(f func()) // runs f in a goroutine that the node waits for
	over     context.Context
	sequence *pending.Sequence // of all managers: after a reload a standalone role goes on in the same term

	mu         sync.Mutex
	configured []Account
	stores     map[string]store               // by chain ID
	db         *pgstore.Database              // nil until an account is configured
	managers   map[accountID]*pending.Manager // of the accounts that this node leads
	counted    map[accountID]map[string]int   // transactions by state, as last read
	raised     map[accountID]map[pending.Cause]int
}

// accountID tells accounts apart: one address on one chain.
type accountID struct {
	chain   string
	account chain.Account
}

func (a Account) id() accountID { return accountID{a.Chain.ID(), a.Address} }

// store keeps the transactions of one chain, in Postgres or in memory.
type store interface { //nolint:interfacebloat // the manager and the API each use a part
	pending.Store
	Accept(ctx context.Context, in pending.Intent) (pending.Intent, error)
	Get(ctx context.Context, id pending.ID) (pending.Record, error)
	List(ctx context.Context, f pending.Filter) ([]pending.Record, error)
	Cancel(ctx context.Context, id pending.ID) error
	Counts(ctx context.Context) ([]pending.Count, error)
}

// connections is the most database connections of a node that write transactions. The
// leader's writes follow one another; the others serve callers.
const connections = 8

// newAccounts makes an empty registry.
func newAccounts(f node.Frame) *accounts {
	return &accounts{
		id: f.ID, log: f.Log, database: f.Database, keyring: newKeyring(), beside: f.Go, over: f.Over, sequence: new(pending.Sequence),
		stores: map[string]store{}, managers: map[accountID]*pending.Manager{}, counted: map[accountID]map[string]int{},
		raised: map[accountID]map[pending.Cause]int{},
	}
}

// prepare opens the stores of accounts. Their keys are open. apply registers the accounts.
func (reg *accounts) prepare(accounts []Account) (apply func(), err error) {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	if len(accounts) > 0 && reg.database != nil && reg.db == nil {
		db, err := pgstore.Open(reg.over, reg.database.Connection(" transactions"), connections)
		if err != nil {
			return nil, err
		}
		reg.db = db
		reg.beside(func() {
			_ = db.Listen(reg.over, reg.wake, reg.wakeAll) // ends with the node
		})
		reg.beside(func() {
			reg.checkTables(db)
			db.KeepWarm(reg.over)
		})
	}
	for _, a := range accounts {
		id := a.Chain.ID()
		switch {
		case reg.stores[id] != nil:
		case reg.db != nil:
			reg.stores[id] = reg.db.Store(id, reg.id)
		default:
			reg.log.Warn("standalone: transactions are kept in memory, and a crash loses all of them, those that were sent included",
				slog.String("chain", id))
			reg.stores[id] = &pending.Memory{}
		}
	}
	return func() {
		reg.mu.Lock()
		defer reg.mu.Unlock()
		reg.configured = slices.Clone(accounts)
	}, nil
}

// checkTables logs at the start a fault of the tables, which every transaction would meet.
func (reg *accounts) checkTables(db *pgstore.Database) {
	ctx, cancel := context.WithTimeout(reg.over, checkPatience)
	defer cancel()
	if err := db.Check(ctx); err != nil && reg.over.Err() == nil {
		reg.log.Error("transactions cannot be kept", slog.String("error", ofStore(err)))
	}
}

func (reg *accounts) close() {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	if reg.db != nil {
		reg.db.Close()
	}
}

// wake tells an account's manager, if this node leads it, that a transaction waits.
func (reg *accounts) wake(id string, account chain.Account) {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	if m := reg.managers[accountID{id, account}]; m != nil {
		m.Wake()
	}
}

func (reg *accounts) wakeAll() {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	for _, m := range reg.managers {
		m.Wake()
	}
}

// register notes the manager that sends an account's transactions, until leave is called.
func (reg *accounts) register(id accountID, m *pending.Manager) (leave func()) {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	reg.managers[id] = m
	return func() {
		reg.mu.Lock()
		defer reg.mu.Unlock()
		if reg.managers[id] == m {
			delete(reg.managers, id)
			delete(reg.raised, id) // the next leader raises them again
		}
	}
}

// store returns the store of a chain, or nil if no account was ever configured on it.
func (reg *accounts) store(c Chain) store {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	return reg.stores[c.ID()]
}

// find returns the account with a name, or with an address that no other account has.
func (reg *accounts) find(name string) (found Account, kept store, known bool) {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	hits := 0
	for _, a := range reg.configured {
		if a.Name == name {
			return a, reg.stores[a.Chain.ID()], true
		}
		if raw, err := chain.ParseHex(name); err == nil && chain.Account(raw) == a.Address {
			found = a
			hits++
		}
	}
	return found, reg.stores[found.Chain.ID()], hits == 1
}

// chainStore is the store of one chain.
type chainStore struct {
	id string // of the chain
	store
}

// chainStores returns the stores of the chains that have an account.
func (reg *accounts) chainStores() (all []chainStore) {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	for _, a := range reg.configured {
		id := a.Chain.ID()
		if !slices.ContainsFunc(all, func(s chainStore) bool { return s.id == id }) {
			all = append(all, chainStore{id, reg.stores[id]})
		}
	}
	return all
}

// nameOf returns an account's configured name, or else its address.
func (reg *accounts) nameOf(id accountID) string {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	for _, a := range reg.configured {
		if a.id() == id {
			return a.Name
		}
	}
	return id.account.String()
}
