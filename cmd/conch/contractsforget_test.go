package main_test

import (
	"cmp"
	"slices"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// number returns what a statement counts in an organisation's database.
func (o *organisation) number(t *testing.T, sql string) (n int) {
	t.Helper()
	o.asksDatabase(t, func(c *pgx.Conn) error { return c.QueryRow(t.Context(), sql).Scan(&n) })
	return n
}

func (o *organisation) asksDatabase(t *testing.T, does func(*pgx.Conn) error) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), o.db)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	if err := does(c); err != nil {
		t.Fatal(err)
	}
}

// forgets starts a node again a month after what it has sent to the contract has ended: without a word in its file that is deleted from its
// account's queue, but for what is a day younger, what has not ended, and the newest slot, from which the next nonce is counted. What users
// have sent stays, its users' keys name what they did, and the contract goes on.
func (p *parties) forgets(t *testing.T, asked map[*organisation]string) {
	t.Helper()
	const own, old = `SELECT count(*) FROM conch.intents WHERE space <> ''`, ` AND nonce IN (SELECT nonce FROM conch.pending_transactions
		WHERE final AND updated_at < clock_timestamp() - interval '30 days' AND nonce < (SELECT max(nonce) FROM conch.pending_transactions))`
	const users = `SELECT count(*) FROM conch.intents WHERE space = ''`
	o := slices.MaxFunc(p.all, func(a, b *organisation) int { return cmp.Compare(a.number(t, own), b.number(t, own)) })
	pgtest.Eventually(t, longPatience, "all that was sent is final", func() bool {
		return o.number(t, `SELECT count(*) FROM conch.pending_transactions WHERE NOT final`) == 0
	})
	o.stop(syscall.SIGTERM)
	before, others := o.number(t, own), o.number(t, users)
	if before < 4 {
		t.Fatalf("%s has sent %d transactions to the contract: this shows nothing", o.name, before)
	}
	o.asksDatabase(t, func(c *pgx.Conn) error {
		_, err := c.Exec(t.Context(), `WITH mine AS (SELECT nonce, row_number() OVER (ORDER BY nonce) AS n FROM conch.intents WHERE space <> '' AND nonce IS NOT NULL)
			UPDATE conch.pending_transactions t SET updated_at = clock_timestamp() - CASE WHEN m.n = 1 THEN interval '29 days' ELSE interval '31 days' END,
			       final = m.n <> 2 FROM mine m WHERE t.nonce = m.nonce`)
		return err
	})
	aged := o.number(t, own+old)
	p.start(o)
	pgtest.Eventually(t, longPatience, "what has ended a month ago is forgotten", func() bool { return o.number(t, own+old) == 0 })
	kept := o.number(t, own+` AND nonce < (SELECT max(nonce) FROM conch.pending_transactions WHERE updated_at < clock_timestamp() - interval '20 days')`)
	if now := o.number(t, users); aged < 1 || kept < 2 || now != others {
		t.Errorf("of %d transactions %d were old; %d are kept that are younger or have not ended, and %d of %d of users", before, aged, kept, now, others)
	}
	for who, path := range asked {
		p.ends(who, path, "confirmed")
	}
	p.ends(o, p.asks(o, "after a month", `{"pay": {"from": "office", "to": "desk-0", "amount": 1}}`), "confirmed")
}
