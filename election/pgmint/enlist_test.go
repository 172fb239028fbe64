package pgmint_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
)

// A candidate that has withdrawn from a scope is on no list of it, and nobody can transfer
// it to that candidate. The lease stays written down: a failover may forget a term of it.
func TestWithdrawnCandidates(t *testing.T) {
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
	for range 2 { // its answer may have been lost
		if err := b.Enlist(t.Context(), election.Roll{Withdraw: []string{"s"}, Longest: time.Second}); err != nil {
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
	if err := b.Enlist(t.Context(), election.Roll{Add: []string{"s"}, Longest: 2 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	err = c.QueryRow(t.Context(), `SELECT max(lease_ms), max(cardinality(withdrawn)) FROM conch.process WHERE scopes @> ARRAY['s']`).Scan(&lease, &withdrawn)
	if err != nil || lease != 120_000 || withdrawn != 0 || !slices.Contains(candidates(), "b") {
		t.Errorf("added again: %d ms is the longest lease, %d withdrawn, candidates %v: %v", lease, withdrawn, candidates(), err)
	}
}

// A candidate's row that somebody has locked delays no heartbeat: the change is refused, and
// said again later.
func TestEnlistWaitsForNobody(t *testing.T) {
	t.Parallel()
	db, m, _, _ := setup(t)
	b := candidate(t, m, "b", unhurried, election.Strict)
	c := db.Connect(t)
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `SELECT FROM conch.process WHERE process_key = $1 FOR UPDATE`, b.Process()); err != nil {
		t.Fatal(err)
	}
	roll := election.Roll{Add: []string{"more"}, Longest: unhurried}
	if err := b.Enlist(t.Context(), roll); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("with its row locked: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.Enlist(t.Context(), roll); err != nil {
		t.Errorf("with its row free: %v", err)
	}
}

// Scopes that come later count against the lock budget as those from the beginning do.
func TestEnlistKeepsTheLockBudget(t *testing.T) {
	t.Parallel()
	db, _, _, _ := setup(t)
	m, err := pgmint.New(pgmint.Config{URL: db.URL, LockBudget: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	s := candidate(t, m, "a", unhurried, election.Strict)
	if err := s.Enlist(t.Context(), election.Roll{Add: []string{"t"}, Longest: unhurried}); err != nil {
		t.Errorf("two scopes, a process key and a fence fit into 4: %v", err)
	}
	if err := s.Enlist(t.Context(), election.Roll{Add: []string{"t"}, Longest: unhurried}); err != nil {
		t.Errorf("the same said again: %v", err)
	}
	err = s.Enlist(t.Context(), election.Roll{Add: []string{"u"}, Longest: unhurried})
	if err == nil || !strings.Contains(err.Error(), "lock budget is 4") {
		t.Errorf("a third scope: %v", err)
	}
}
