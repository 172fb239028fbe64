package transactions

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending/pgstore"
)

var (
	_ node.Compactor = (*service)(nil)
	_ node.Measured  = (*service)(nil)
)

// upkeep has the transactions of all accounts in the database, also of those that this node does not have.
type upkeep struct {
	at *pgmint.Config // nil: the node uses no database

	mu sync.Mutex
	db *pgstore.Database // nil until a role asks for it
}

// open returns the database, and does not connect yet.
func (u *upkeep) open(ctx context.Context) (*pgstore.Database, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.db != nil {
		return u.db, nil
	}
	db, err := pgstore.Open(ctx, u.at.Connection(" upkeep"), 1)
	if err == nil {
		u.db = db
	}
	return db, err
}

func (u *upkeep) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.db != nil {
		u.db.Close()
	}
}

// archiveBatch is small, since the store accepts no intents while it moves a batch.
const archiveBatch = 500

// Compact implements node.Compactor: it moves what has finished to the archive, where IDs and keys are still found.
func (s *service) Compact(ctx context.Context, t fence.Token, keep time.Duration, after string) (gone map[string]int, next string, err error) {
	db, err := s.upkeep.open(s.frame.Over)
	if err != nil {
		return nil, "", err
	}
	var from *pgstore.Account
	if id, account, is := strings.Cut(after, " "); is {
		raw, err := chain.ParseHex(account)
		if err != nil {
			return nil, "", fmt.Errorf("no account: %w", err) // cannot happen: it is what this has returned
		}
		from = &pgstore.Account{Chain: id, Account: chain.Account(raw)}
	}
	moved, to, err := db.Trim(ctx, t, keep, archiveBatch, from)
	if to != nil {
		next = to.Chain + " " + to.Account.String()
	}
	return map[string]int{"transactions": moved}, next, err
}

// Figures implements node.Measured: it counts what waits for a slot.
func (s *service) Figures(ctx context.Context) (all []node.Figure, err error) {
	db, err := s.upkeep.open(s.frame.Over)
	if err != nil {
		return nil, err
	}
	waiting, err := db.Backlogs(ctx)
	for _, b := range waiting {
		of := map[string]string{"chain": b.Chain}
		all = append(all, node.Figure{Name: "conch_transactions_waiting", Labels: of, Value: float64(b.N)},
			node.Figure{Name: "conch_transactions_oldest_seconds", Labels: of, Value: b.Oldest.Seconds()})
	}
	return all, err
}
