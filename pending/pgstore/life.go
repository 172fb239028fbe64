package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/pending"
)

const (
	// newestLife is a query for the life that an account is in; it has no row in the first one.
	newestLife = `SELECT life, first, since, over FROM conch.pending_lives WHERE chain = $1 AND account = $2 ORDER BY life DESC LIMIT 1`

	// lastsUntil and hasBegun say of a life l what pending.Snapshot has. Only attempts that wear out are looked at, so on other chains none is.
	lastsUntil = `coalesce(greatest(
		           (SELECT until FROM conch.pending_attempts WHERE ` + ofLife + ` ORDER BY until DESC LIMIT 1),
		           (SELECT until FROM conch.archived_attempts WHERE ` + ofLife + ` ORDER BY until DESC LIMIT 1)), 0)`
	hasBegun = `(EXISTS (SELECT FROM conch.pending_attempts WHERE ` + ofLife + ` AND NOT filler)
		        OR EXISTS (SELECT FROM conch.archived_attempts WHERE ` + ofLife + ` AND NOT filler))`
	ofLife = `chain = $1 AND account = $2 AND until IS NOT NULL AND nonce >= coalesce(l.first, 0)`

	// firstOf is the first nonce of the life of a slot t of an intent i.
	firstOf = `(SELECT l.first FROM conch.pending_lives l WHERE (l.chain, l.account) = (i.chain, i.account) AND l.first <= i.nonce ORDER BY l.life DESC LIMIT 1)`
)

// life reads the columns of newestLife.
type life struct {
	number, first, since int64
	over                 bool
}

func (l *life) columns() []any { return []any{&l.number, &l.first, &l.since, &l.over} }

func (l *life) read() pending.Life {
	return pending.Life{Number: uint64(l.number), First: uint64(l.first), Since: uint64(l.since), Over: l.over}
}

// queueLife lets the account's next life begin.
func (s *Store) queueLife(batch *pgx.Batch, b pending.Batch) {
	if next := b.Opens; next != nil {
		batch.Queue(`SELECT conch.pending_live($1, $2, $3, $4, $5)`, s.cfg.Chain, []byte(b.Account), int64(next.Number), int64(next.First), int64(next.Since))
	}
}

// Life returns the life that an account is in. Any node may call it.
func (s *Store) Life(ctx context.Context, account chain.Account) (pending.Life, error) {
	var l life
	err := s.db.pools.Readers.QueryRow(ctx, newestLife, s.cfg.Chain, []byte(account)).Scan(l.columns()...)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return l.read(), err
}

// SayOver stores a person's word that a life of an account is over. Its leader believes it, and lets the next one begin once nothing that was
// signed before can be included. It returns [pending.ErrNoLife] if another life is the newest.
func (s *Store) SayOver(ctx context.Context, account chain.Account, number uint64) error {
	var said int64
	var write pgx.Batch
	write.Queue(pg.Durable)
	write.Queue(`
		INSERT INTO conch.pending_lives AS l (chain, account, life, first, since, over)
		SELECT $1, $2, $3, 0, 0, true
		 WHERE $3 = coalesce((SELECT n.life FROM conch.pending_lives n WHERE n.chain = $1 AND n.account = $2 ORDER BY n.life DESC LIMIT 1), 0)
		    ON CONFLICT (chain, account, life) DO UPDATE SET over = true`,
		s.cfg.Chain, []byte(account), int64(number)).Exec(func(tag pgconn.CommandTag) error { said = tag.RowsAffected(); return nil })
	err := s.db.pools.Commit(ctx, &write)
	if err == nil && said == 0 {
		return fmt.Errorf("%w: it is not in its life %d", pending.ErrNoLife, number)
	}
	return err
}
