package pgmint_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A scope is forgotten only when nobody leads it or wants to; it keeps its epoch, also when
// all epochs are raised, and is on the lists again once it is led.
func TestForget(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	cfg := pgmint.Config{URL: db.URL}
	refused := func(why string) {
		t.Helper()
		err := pgmint.Forget(t.Context(), cfg, "s")
		if led, ok := errors.AsType[*pgmint.LedError](err); !ok || !strings.Contains(led.Why, why) {
			t.Errorf("%s: %v", why, err)
		}
	}
	listed := func(want ...string) {
		t.Helper()
		o, err := pgmint.Observe(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		all, err := o.Leaderships(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		var scopes []string
		for _, l := range all {
			scopes = append(scopes, l.Scope)
		}
		if !slices.Equal(scopes, want) {
			t.Errorf("listed %q, want %q", scopes, want)
		}
		if one, err := o.Leaderships(t.Context(), "s"); err != nil || len(one) != 1 {
			t.Errorf("by its name: %+v, %v", one, err)
		}
	}
	refused("none of that name")
	m := newMint(t, db.URL)
	one := candidate(t, m, "one", time.Second, election.Strict)
	won := bid(t, one, election.Bid{Scope: "s", Lease: time.Second})
	refused("one leads it")
	parts(t, one, election.Farewell{Token: won.Token})
	refused("one campaign")
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, time.Minute, "it is forgotten once its candidate has gone", func() bool {
		return pgmint.Forget(t.Context(), cfg, "s") == nil
	})
	listed()

	below, err := pgmint.Below(t.Context(), cfg, 500)
	if err != nil || !slices.Equal(below, []string{"s"}) {
		t.Fatalf("below 500: %q, %v", below, err)
	}
	if err := pgmint.Advance(t.Context(), cfg, "s", 500, "ops"); err != nil {
		t.Fatal(err)
	}
	listed()
	two := candidate(t, newMint(t, db.URL), "two", time.Second, election.Strict)
	if r := bid(t, two, election.Bid{Scope: "s", Lease: time.Second}); r.Outcome != election.Won || r.Token.Epoch != 501 {
		t.Errorf("led again: %+v", r)
	}
	listed("s")
}
