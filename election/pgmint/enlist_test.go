package pgmint_test

import (
	"context"
	"strings"
	"testing"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
)

// A locked row of the candidate delays no heartbeat: Enlist returns an error, and may be repeated.
func TestEnlistWaitsForNobody(t *testing.T) {
	t.Parallel()
	db, m, _, _ := setup(t)
	b := candidate(t, m, "b", unhurried, mint.Strict)
	c := db.Connect(t)
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `SELECT FROM conch.process WHERE process_key = $1 FOR UPDATE`, b.Process()); err != nil {
		t.Fatal(err)
	}
	roll := mint.Roll{Add: []string{"more"}, Longest: unhurried}
	if err := b.Enlist(t.Context(), roll); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("with its row locked: got %v, want an error that says so", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.Enlist(t.Context(), roll); err != nil {
		t.Errorf("with its row free: %v", err)
	}
}

// Scopes that are added later count against the lock budget like the first ones.
func TestEnlistKeepsTheLockBudget(t *testing.T) {
	t.Parallel()
	db, _, _, _ := setup(t)
	m, err := pgmint.New(pgmint.Config{URL: db.URL, LockBudget: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	s := candidate(t, m, "a", unhurried, mint.Strict)
	if err := s.Enlist(t.Context(), mint.Roll{Add: []string{"t"}, Longest: unhurried}); err != nil {
		t.Errorf("two scopes, a process key and a fence fit into 4: %v", err)
	}
	if err := s.Enlist(t.Context(), mint.Roll{Add: []string{"t"}, Longest: unhurried}); err != nil {
		t.Errorf("the same scope again: %v", err)
	}
	err = s.Enlist(t.Context(), mint.Roll{Add: []string{"u"}, Longest: unhurried})
	if err == nil || !strings.Contains(err.Error(), "lock budget is 4") {
		t.Errorf("a third scope: got %v, want an error that names the lock budget", err)
	}
}
