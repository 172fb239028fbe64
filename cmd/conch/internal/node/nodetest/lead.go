package nodetest

import (
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Lead makes a candidate the leader of a scope, as soon as it can, as an elector does that has waited for a lease. It leads until
// leave is called, or the test ends.
func Lead(t testing.TB, url, id, scope string, lease time.Duration) (token fence.Token, leave func()) {
	t.Helper()
	minter, err := pgmint.New(pgmint.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(minter.Close)
	session, err := minter.Open(t.Context(), mint.Candidate{ID: id, Lease: lease, Longest: lease, Takeover: mint.Strict, Scopes: []string{scope}})
	if err != nil {
		t.Fatal(err)
	}
	leave = func() { _ = session.Close() }
	t.Cleanup(leave)
	pgtest.Eventually(t, Patience, id+" leads", func() bool {
		won, err := session.Try(t.Context(), []mint.Bid{{Scope: scope, Lease: lease, Block: 100 * time.Millisecond, Evict: true}})
		if err != nil {
			t.Fatal(err)
		}
		token = won[0].Token
		return won[0].Outcome == mint.Won
	})
	return token, leave
}
