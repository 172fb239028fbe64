package pgops_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A scope is forgotten only if nobody leads it or campaigns for it. It keeps its epoch, which
// can still be raised, and is on the lists again once it is led.
func TestForget(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	cfg := pgmint.Config{URL: db.URL}
	refused := func(why string) {
		t.Helper()
		err := pgops.Forget(t.Context(), cfg, "s")
		if led, ok := errors.AsType[*pgops.LedError](err); !ok || !strings.Contains(led.Why, why) {
			t.Errorf("got %v, want a LedError with %q", err, why)
		}
	}
	listed := func(want ...string) {
		t.Helper()
		o := observe(t, db.URL)
		all, err := o.Scopes(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		var scopes []string
		for _, l := range all {
			scopes = append(scopes, l.Scope)
		}
		if !slices.Equal(scopes, want) {
			t.Errorf("got the list %q, want %q", scopes, want)
		}
		status(t, o, "s") // by its name it is always there
	}
	refused("none of that name")
	m := newMint(t, db.URL)
	one := candidate(t, m, "one", time.Second, mint.Strict)
	won := bid(t, one, mint.Bid{Scope: "s", Lease: time.Second})
	refused("one leads it")
	parts(t, one, mint.Farewell{Token: won.Token})
	refused("one campaign")
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, time.Minute, "the scope to be forgotten once its candidate has gone", func() bool {
		return pgops.Forget(t.Context(), cfg, "s") == nil
	})
	listed()

	below, err := pgops.Below(t.Context(), cfg, 500)
	if err != nil || !slices.Equal(below, []string{"s"}) {
		t.Fatalf("the scopes below 500: got %q, %v, want s", below, err)
	}
	if err := pgops.Advance(t.Context(), cfg, "s", 500, "ops"); err != nil {
		t.Fatal(err)
	}
	listed()
	two := candidate(t, newMint(t, db.URL), "two", time.Second, mint.Strict)
	if r := bid(t, two, mint.Bid{Scope: "s", Lease: time.Second}); r.Outcome != mint.Won || r.Token.Epoch != 501 {
		t.Errorf("the next bid: got %+v, want epoch 501", r)
	}
	listed("s")
}
