package pgops_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
)

// A candidate that has withdrawn from a scope is not listed for it, and a transfer to it is
// refused. Its lease, which counts after a failover, stays registered.
func TestWithdrawnCandidates(t *testing.T) {
	t.Parallel()
	db, m, _, _ := setup(t)
	b := candidate(t, m, "b", time.Minute, mint.Strict)
	cfg := pgmint.Config{URL: db.URL}
	o := observe(t, db.URL)
	candidates := func() []string { t.Helper(); return status(t, o, "s").Candidates }
	if !slices.Contains(candidates(), "b") {
		t.Fatalf("got the candidates %q before b withdraws, want b among them", candidates())
	}
	for range 2 { // it may be repeated
		if err := b.Enlist(t.Context(), mint.Roll{Withdraw: []string{"s"}, Longest: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Contains(candidates(), "b") {
		t.Errorf("got the candidates %q after b has withdrawn, want no b", candidates())
	}
	_, err := pgops.Ask(t.Context(), cfg, pgops.Request{Scope: "s", To: "b", Actor: "ops", Timeout: time.Second}, func(string) {})
	if err == nil || !strings.Contains(err.Error(), `b is no candidate of "s" now`) {
		t.Errorf("a transfer to b: got %v, want an error that it is no candidate", err)
	}
	var lease, withdrawn int
	c := db.Connect(t)
	registered := func() {
		t.Helper()
		if err := c.QueryRow(t.Context(), `SELECT max(lease_ms), max(cardinality(withdrawn)) FROM conch.process WHERE scopes @> ARRAY['s']`).Scan(&lease, &withdrawn); err != nil {
			t.Fatal(err)
		}
	}
	if registered(); lease != 60_000 || withdrawn != 1 {
		t.Errorf("got a longest lease of %d ms and %d withdrawn scopes, want 60000 and 1", lease, withdrawn)
	}
	if err := b.Enlist(t.Context(), mint.Roll{Add: []string{"s"}, Longest: 2 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	if registered(); lease != 120_000 || withdrawn != 0 || !slices.Contains(candidates(), "b") {
		t.Errorf("added again: got a longest lease of %d ms, %d withdrawn scopes and the candidates %q, want 120000, 0 and b among them", lease, withdrawn, candidates())
	}
}
