package pgmint_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
)

// A candidate that has withdrawn from a scope is on no list of it and nobody can
// hand it over to it; what a failover must know of its leases stays written down.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	db, m, _, _ := setup(t)
	b := candidate(t, m, "b", time.Minute, election.Strict)
	cfg := pgmint.Config{URL: db.URL}
	candidates := func() []string {
		t.Helper()
		o, err := pgmint.Observe(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		all, err := o.Leaderships(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		return all[0].Candidates
	}
	if !slices.Contains(candidates(), "b") {
		t.Fatalf("before: %v", candidates())
	}
	for range 2 { // again: it may
		if err := m.Withdraw(t.Context(), b.Process(), "s"); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Contains(candidates(), "b") {
		t.Errorf("after: %v", candidates())
	}
	_, err := pgmint.Ask(t.Context(), cfg, pgmint.Request{Scope: "s", To: "b", Actor: "ops", Timeout: time.Second}, func(string) {})
	if err == nil || !strings.Contains(err.Error(), `b is no candidate of "s" now`) {
		t.Errorf("a transfer to it: %v", err)
	}
	var lease, withdrawn int
	c := db.Connect(t)
	err = c.QueryRow(t.Context(), `SELECT max(lease_ms), max(cardinality(withdrawn)) FROM conch.process WHERE scopes @> ARRAY['s']`).Scan(&lease, &withdrawn)
	if err != nil || lease != 60_000 || withdrawn != 1 {
		t.Errorf("%d ms is the longest lease, %d withdrawn: %v", lease, withdrawn, err)
	}
}
