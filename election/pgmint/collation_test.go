package pgmint_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
)

// An upgrade of the system may change how a locale sorts. An index sorted by that locale then misses
// rows, and a scope whose row is missed would begin again at epoch 1, where old tokens are current.
func TestTheSystemSortsAnew(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	srv := pgtest.Own(t, postmaster.Config{MaxConnections: 20})
	admin := pgtest.Connect(t, pg.Config{URL: srv.URL("postgres")})
	_, err := admin.Exec(t.Context(), `CREATE DATABASE sorted TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en' ENCODING 'UTF8'`)
	if pg.Code(err) == "0A000" || pg.Code(err) == "42601" {
		runtest.Missing(t, "this Postgres has no ICU locales, one of which the test changes: use 15 or newer, built with ICU")
	}
	if err != nil {
		t.Fatal(err)
	}
	cfg := pgmint.Config{URL: srv.URL("sorted")}
	if err := pgmint.Up(t.Context(), cfg, nil); err != nil {
		t.Fatal(err)
	}
	scopes := make([]string, 30)
	for i := range scopes {
		scopes[i] = fmt.Sprintf("scope-%d", i)
	}
	tokens := func(id string) []fence.Token {
		m := mintWith(t, cfg)
		s := candidate(t, m, id, time.Second, mint.Strict)
		got := make([]fence.Token, len(scopes))
		for i, scope := range scopes {
			got[i] = lead(t, s, scope, time.Second)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		m.Close()
		return got
	}
	old := tokens("a")
	// Sort numbers by their value from now on: 10 after 9, not after 1.
	run(t, admin, `UPDATE pg_database SET daticulocale = 'en-u-kn' WHERE datname = 'sorted'`)
	for i, token := range tokens("b") {
		if token.Epoch != old[i].Epoch+1 {
			t.Errorf("%s: got epoch %d after epoch %d, want the next one", token.Scope, token.Epoch, old[i].Epoch)
		}
	}
	app := pgtest.Connect(t, pg.Config{URL: cfg.URL})
	for _, token := range old {
		if err := pgfence.Fence(t.Context(), app, token); !errors.Is(err, fence.ErrStale) {
			t.Errorf("fence with the old token of %s: got %v, want ErrStale", token.Scope, err)
		}
	}
}
