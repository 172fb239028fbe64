package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/conchhq/conch/internal/pg"
)

// Policy is what the callers of a token may have sent on a chain. The store counts; what the rules say is its callers' business.
type Policy struct {
	Token, Chain string
	Rules        json.RawMessage
	Limits       []Take // the most of what is limited
	Version      int64  // another one after each change
	// Spent is what was taken from the limits in this day, or this minute, as of At, by the database's clock.
	Spent []Take
	At    time.Time
}

// ErrNoPolicy means that a token has no policy on a chain.
var ErrNoPolicy = errors.New("the token has no policy on this chain")

// Policy returns the policy of a token on a chain, without what was spent, or [ErrNoPolicy].
func (d *Database) Policy(ctx context.Context, token, chain string) (Policy, error) {
	p := Policy{Token: token, Chain: chain}
	var counted []string
	var most []pgtype.Numeric
	err := d.pools.Writers.QueryRow(ctx, `SELECT rules, counted, most, version FROM conch.pending_policies WHERE token = $1 AND chain = $2`, token, chain).
		Scan(&p.Rules, &counted, &most, &p.Version)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, ErrNoPolicy
	}
	p.Limits = limits(counted, most)
	return p, err
}

// PolicyWithSpent returns the policy of a token on a chain as it stands, or [ErrNoPolicy].
func (d *Database) PolicyWithSpent(ctx context.Context, token, chain string) (Policy, error) {
	all, err := d.policies(ctx, `WHERE p.token = $1 AND p.chain = $2`, token, chain)
	if err != nil {
		return Policy{}, err
	}
	if len(all) == 0 {
		return Policy{}, ErrNoPolicy
	}
	return all[0], nil
}

// Policies returns all policies, in the order of their names and chains, with what was spent.
func (d *Database) Policies(ctx context.Context) (all []Policy, err error) {
	return d.policies(ctx, ``)
}

func (d *Database) policies(ctx context.Context, where string, args ...any) (all []Policy, err error) {
	rows, _ := d.pools.Writers.Query(ctx, `
		SELECT p.token, p.chain, p.rules, p.counted, p.most, p.version, n.at, s.spent
		  FROM conch.pending_policies p,
		       LATERAL (SELECT pg_catalog.clock_timestamp() AS at) n,
		       LATERAL (SELECT pg_catalog.array_agg(coalesce(t.spent, 0) - coalesce(b.amount, 0) ORDER BY w.place) AS spent
		                  FROM pg_catalog.unnest(p.counted) WITH ORDINALITY w(what, place)
		                  CROSS JOIN LATERAL (SELECT pg_catalog.date_trunc(CASE w.what WHEN 'count' THEN 'minute' ELSE 'day' END, n.at, 'UTC') AS since) d
		                  LEFT JOIN conch.pending_spent t ON t.token = p.token AND t.chain = p.chain AND t.what = w.what AND t.since = d.since
		                  LEFT JOIN LATERAL (SELECT pg_catalog.sum(r.amount) AS amount FROM conch.pending_returned r
		                         WHERE r.token = p.token AND r.chain = p.chain AND r.what = w.what AND r.since = d.since) b ON true) s
		 `+where+`
		 ORDER BY p.token, p.chain`, args...) // they have its error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Policy, err error) {
		var counted []string
		var most, spent []pgtype.Numeric
		err = row.Scan(&p.Token, &p.Chain, &p.Rules, &counted, &most, &p.Version, &p.At, &spent)
		p.Limits, p.Spent = limits(counted, most), limits(counted, spent)
		return p, err
	})
}

func limits(whats []string, amounts []pgtype.Numeric) (all []Take) {
	for i, n := range amounts {
		amount := integer(n)
		if amount == nil {
			amount = new(big.Int)
		}
		all = append(all, Take{whats[i], amount})
	}
	return all
}

// SetPolicy stores a policy in the place of the one before. What was spent, and what was accepted, stays. It needs the rights of the
// tables' owner, and waits for acceptances that are under way.
func (d *Database) SetPolicy(ctx context.Context, p Policy) error {
	counted, most := []string{}, []pgtype.Numeric{}
	for _, l := range p.Limits {
		counted, most = append(counted, l.What), append(most, numeric(l.Amount))
	}
	return d.own(ctx, `
		INSERT INTO conch.pending_policies (token, chain, rules, counted, most) VALUES ($1, $2, $3, $4, $5)
		    ON CONFLICT (token, chain) DO UPDATE SET rules = excluded.rules, counted = excluded.counted, most = excluded.most, version = DEFAULT`,
		nil, p.Token, p.Chain, p.Rules, counted, most)
}

// DeletePolicy deletes a policy, or returns [ErrNoPolicy]. It needs what SetPolicy does.
func (d *Database) DeletePolicy(ctx context.Context, token, chain string) error {
	var gone int64
	if err := d.own(ctx, `DELETE FROM conch.pending_policies WHERE token = $1 AND chain = $2`, &gone, token, chain); err != nil {
		return err
	}
	if gone == 0 {
		return ErrNoPolicy
	}
	return nil
}

// own runs a statement of the tables' owner, and counts the rows that it has changed.
func (d *Database) own(ctx context.Context, sql string, changed *int64, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	var write pgx.Batch
	write.Queue(pg.Durable)
	write.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
		if changed != nil {
			*changed = tag.RowsAffected()
		}
		return nil
	})
	return d.pools.Commit(ctx, &write)
}

// ClearSpent deletes what was taken from limits of days that are longer ago than that: of up to most intents.
func (d *Database) ClearSpent(ctx context.Context, age time.Duration, most int) (gone int, err error) {
	err = d.pools.Writers.QueryRow(ctx, `SELECT conch.pending_clear($1, $2)`, age, most).Scan(&gone)
	return gone, err
}
