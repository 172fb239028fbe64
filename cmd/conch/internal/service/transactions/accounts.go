package transactions

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// accounts is the registry of the configured accounts and of the stores of their transactions. It is safe
// for concurrent use.
type accounts struct {
	id       string // of the node
	log      *slog.Logger
	database *pgmint.Config // nil in standalone mode: transactions are kept in memory
	managers *managers      // woken by the database
	news     *news
	told     func()         // called when there may be events
	beside   func(f func()) // runs f in a goroutine that the node waits for
	over     context.Context

	mu         sync.Mutex
	configured []Account
	stores     map[string]store  // by chain ID
	db         *pgstore.Database // nil until an account is configured
}

// accountID tells accounts apart: one address on one chain.
type accountID struct {
	chain   string
	account chain.Account
}

func (a Account) id() accountID { return accountID{a.Chain.ID(), a.Address} }

// connections is the most database connections of a node that write transactions. The
// leader's writes follow one another; the others serve callers.
const connections = 8

func newAccounts(f node.Frame, m *managers) *accounts {
	return &accounts{
		id: f.ID, log: f.Log, database: f.Database, managers: m, beside: f.Go, over: f.Over, stores: map[string]store{},
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
			_ = db.Listen(reg.over, pgstore.Heard{Waits: reg.managers.wake, Told: reg.told, Missed: reg.managers.wakeAll}) // ends with the node
		})
		reg.beside(func() { reg.news.follow(reg.over, db) })
		reg.beside(func() { reg.repair(db) })
		reg.beside(func() { reg.tend(db) })
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
			reg.stores[id] = &pending.Memory{Told: func(e pending.Event) { reg.news.pass(id, e, "", false) }}
		}
	}
	return func() {
		reg.mu.Lock()
		defer reg.mu.Unlock()
		reg.configured = slices.Clone(accounts)
		for _, a := range accounts {
			reg.managers.allow(a)
		}
	}, nil
}

// repairEvery is the default of an account's Repair.
const repairEvery = time.Second

// repair wakes managers for which a notification was lost. It ends with the node.
func (reg *accounts) repair(db *pgstore.Database) {
	for {
		select {
		case <-reg.over.Done():
			return
		case <-time.After(reg.repairIn()):
		}
		accounts := reg.managers.accounts()
		if len(accounts) == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(reg.over, checkPatience)
		waiting, err := db.Waiting(ctx, accounts)
		cancel()
		if err != nil {
			continue // the leaders' own statements fail too, and say so
		}
		for _, a := range waiting {
			reg.managers.wake(a.Chain, a.Account)
		}
	}
}

const (
	eventsKept  = 7 * 24 * time.Hour // longer than anybody is tried to be told of them
	trimEvery   = time.Minute
	stuckAfter  = 5 * time.Minute
	stuckBatch  = 500
	trimBatch   = 5000
	trimAtLeast = time.Second // between two batches
)

// tend tells what waits for long in the accounts that this node leads, and deletes old events. It ends with the node.
func (reg *accounts) tend(db *pgstore.Database) {
	for rest := trimEvery; pause.For(reg.over, rest) == nil; {
		rest = trimEvery
		leading := reg.managers.accounts()
		if len(leading) == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(reg.over, checkPatience)
		for _, a := range leading {
			_ = db.TellStuck(ctx, a, stuckAfter, stuckBatch) // the next minute tries again
		}
		gone, err := db.TrimEvents(ctx, eventsKept, trimBatch)
		cleared, other := db.ClearSpent(ctx, eventsKept, trimBatch)
		if cancel(); err == nil && gone == trimBatch || other == nil && cleared == trimBatch {
			rest = trimAtLeast
		}
	}
}

// ownRepair returns how often an account's manager looks for itself: in a database one statement looks for all.
func (reg *accounts) ownRepair(a Account) time.Duration {
	if reg.database != nil {
		return time.Hour
	}
	return a.Repair
}

// repairIn returns the shortest interval of the accounts.
func (reg *accounts) repairIn() time.Duration {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	every := time.Duration(0)
	for _, a := range reg.configured {
		if own := cmp.Or(a.Repair, repairEvery); every == 0 || own < every {
			every = own
		}
	}
	return cmp.Or(every, repairEvery)
}

// checkTables logs at the start a fault of the tables, which every transaction would meet.
func (reg *accounts) checkTables(db *pgstore.Database) {
	ctx, cancel := context.WithTimeout(reg.over, checkPatience)
	defer cancel()
	if err := db.Check(ctx); err != nil && reg.over.Err() == nil {
		reg.log.Error("transactions cannot be kept", slog.String("error", ofStore(err)))
	}
}

// opened returns the database; nil: there is none.
func (reg *accounts) opened() *pgstore.Database {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	return reg.db
}

func (reg *accounts) close() {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	if reg.db != nil {
		reg.db.Close()
	}
}

// store returns the store of a chain, or nil if no account was ever configured on it.
func (reg *accounts) store(c Chain) store { return reg.storeOf(c.ID()) }

// storeOf returns the store of the chain with an ID, or nil if no account was ever configured on it.
func (reg *accounts) storeOf(chainID string) store {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	return reg.stores[chainID]
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
		if address, err := evm.ParseAddress(name); err == nil && address == a.Address {
			found = a
			hits++
		}
	}
	return found, reg.stores[found.Chain.ID()], hits == 1
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

// all returns the configured accounts.
func (reg *accounts) all() []Account {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	return slices.Clone(reg.configured)
}

// someOf returns an account on a chain, if there is one.
func (reg *accounts) someOf(chainID string) (some Account, known bool) {
	for _, a := range reg.all() {
		if a.Chain.ID() == chainID {
			return a, true
		}
	}
	return some, false
}

// nameOf returns an account's configured name, or else its address.
func (reg *accounts) nameOf(id accountID) string { return reg.at(id).Name }

// at returns an account as it is configured, or else one that has its address for a name and nothing besides.
func (reg *accounts) at(id accountID) Account {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	for _, a := range reg.configured {
		if a.id() == id {
			return a
		}
	}
	return Account{Name: id.account.String(), Address: id.account}
}
