package pgmint_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/election/internal/minttest"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Bids after a failover hold for the longest registered lease. They read each long list of scopes in
// conch.process once, and not once per bid. The test counts pages.
func TestListsOfScopesAreReadOnce(t *testing.T) {
	t.Parallel()
	const scopes, asked, processes = 2000, 200, 3
	db := pgtest.New(t)
	s := candidate(t, newMint(t, db.URL), "b", unhurried, mint.Strict)
	c := db.Connect(t)
	minttest.ManyScopes(t, c, scopes)
	bids := func() (pages int) {
		tx, err := pgmint.Conn(s).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		return touched(t, tx.Conn(), `SELECT * FROM (SELECT array_agg(l.scope) AS scopes, array_agg(l.lock_key) AS keys
			  FROM (SELECT scope, lock_key FROM conch.leadership ORDER BY scope LIMIT $2) l) a,
			conch.bid('b', $1, 'strict', false, a.scopes, a.keys, array_fill(1000, ARRAY[$2::int]), array_fill(true, ARRAY[$2::int]), 0, false, '{}')`, s.Process(), asked)
	}
	for range 2 { // the first ones read the catalog as well
		bids()
	}
	alone := bids()
	minttest.Campaigners(t, c, scopes, processes)
	if pages := bids() - alone; pages > 5*asked { // to read one list takes some forty
		t.Errorf("%d bids after a failover read %d pages more with %d other processes", asked, pages, processes)
	}
	if r := bid(t, s, mint.Bid{Scope: minttest.FirstOfMany, Lease: time.Second}); r.Outcome != mint.Won || r.Hold != 9*time.Second {
		t.Errorf("got %+v, want a hold of the longest lease registered, 9s", r)
	}
}
