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

// desk is where a node accepts and shows transactions, whoever leads their account,
// and where it finds what it needs to send those of the accounts that it leads.
type desk struct {
	id       string
	log      *slog.Logger
	database *pgmint.Config // nil: standalone, all is kept in memory
	keyring  *keyring
	beside   func(f func()) // in a goroutine that the node waits for
	over     context.Context
	sequence *pending.Sequence // of every manager made here: a standalone role has the same term after a reload

	mu       sync.Mutex
	accounts []Account
	ledgers  map[string]ledger // by chain ID
	db       *pgstore.Database // once there was an account
	led      map[seat]*pending.Manager
	counted  map[seat]map[string]int // as last read
	raised   map[seat]map[pending.Cause]int
}

// seat is one account on one chain.
type seat struct {
	chain   string
	account chain.Account
}

func seatOf(a Account) seat { return seat{a.Chain.ID(), a.Address} }

// ledger keeps the transactions of one chain: in Postgres, or in this process.
type ledger interface { //nolint:interfacebloat // what the manager and the API ask of a store, together
	pending.Store
	Accept(ctx context.Context, in pending.Intent) (pending.Intent, error)
	Get(ctx context.Context, id pending.ID) (pending.Record, error)
	List(ctx context.Context, f pending.Filter) ([]pending.Record, error)
	Cancel(ctx context.Context, id pending.ID) error
	Counts(ctx context.Context) ([]pending.Count, error)
}

// connections is how many a node has for transactions at most, beside those on which
// they are looked up: the leader's writes follow one another, the rest serves callers.
const connections = 8

// newDesk makes a desk without accounts.
func newDesk(f node.Frame) *desk {
	return &desk{
		id: f.ID, log: f.Log, database: f.Database, keyring: newKeyring(), beside: f.Go, over: f.Over, sequence: new(pending.Sequence),
		ledgers: map[string]ledger{}, led: map[seat]*pending.Manager{}, counted: map[seat]map[string]int{},
		raised: map[seat]map[pending.Cause]int{},
	}
}

// prepare opens what accounts are kept in. Their keys have been opened before. The desk
// knows the accounts once use is called.
func (d *desk) prepare(accounts []Account) (use func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(accounts) > 0 && d.database != nil && d.db == nil {
		db, err := pgstore.Open(d.over, d.database.Connection(" transactions"), connections)
		if err != nil {
			return nil, err
		}
		d.db = db
		d.beside(func() {
			_ = db.Listen(d.over, d.wake, d.wakeAll) // it ends with the node
		})
		d.beside(func() {
			d.checkTables(db)
			db.KeepWarm(d.over)
		})
	}
	for _, a := range accounts {
		id := a.Chain.ID()
		switch {
		case d.ledgers[id] != nil:
		case d.db != nil:
			d.ledgers[id] = d.db.Store(id, d.id)
		default:
			d.log.Warn("standalone: transactions are kept in memory, and a crash loses all of them, those that were sent included",
				slog.String("chain", id))
			d.ledgers[id] = &pending.Memory{}
		}
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.accounts = slices.Clone(accounts)
	}, nil
}

// checkTables says at once what every transaction would run into.
func (d *desk) checkTables(db *pgstore.Database) {
	ctx, cancel := context.WithTimeout(d.over, checkPatience)
	defer cancel()
	if err := db.Check(ctx); err != nil && d.over.Err() == nil {
		d.log.Error("transactions cannot be kept", slog.String("error", ofStore(err)))
	}
}

func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.db != nil {
		d.db.Close()
	}
}

// wake tells the manager of an account, if it is led here, that something waits.
func (d *desk) wake(id string, account chain.Account) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m := d.led[seat{id, account}]; m != nil {
		m.Wake()
	}
}

func (d *desk) wakeAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.led {
		m.Wake()
	}
}

// take notes who sends an account's transactions here; the answer ends that.
func (d *desk) take(s seat, m *pending.Manager) (leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.led[s] = m
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.led[s] == m {
			delete(d.led, s)
			delete(d.raised, s) // the successor finds out for itself
		}
	}
}

// book is where a chain's transactions are kept, nil if none ever was.
func (d *desk) book(c Chain) ledger {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ledgers[c.ID()]
}

// find looks for an account by its name, or by an address that only one has.
func (d *desk) find(name string) (found Account, book ledger, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	hits := 0
	for _, a := range d.accounts {
		if a.Name == name {
			return a, d.ledgers[a.Chain.ID()], true
		}
		if raw, err := chain.ParseHex(name); err == nil && chain.Account(raw) == a.Address {
			found = a
			hits++
		}
	}
	return found, d.ledgers[found.Chain.ID()], hits == 1
}

// book is one chain's ledger.
type book struct {
	id string
	ledger
}

// books are the ledgers of the chains that there are accounts on.
func (d *desk) books() (all []book) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.accounts {
		id := a.Chain.ID()
		if !slices.ContainsFunc(all, func(b book) bool { return b.id == id }) {
			all = append(all, book{id, d.ledgers[id]})
		}
	}
	return all
}

// nameOf is what the configuration calls an account; its address if it is in none.
func (d *desk) nameOf(s seat) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.accounts {
		if seatOf(a) == s {
			return a.Name
		}
	}
	return s.account.String()
}
