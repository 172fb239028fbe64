package pgstore_test

import (
	"context"
	"testing"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/pgstore"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

// A role that may create objects in public lays a trap for each function and operator that this package uses. None is
// sprung, whatever the search_path; behind a pooler, which keeps the path as it is, none under the default path.
func TestNoTrapIsSprung(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path string
		open func(context.Context, pg.Config, int) (*pgstore.Database, error)
	}{
		"default path": {`"$user", public`, pgstore.Open}, "public first": {"public, pg_catalog", pgstore.Open},
		"behind a pooler": {`"$user", public`, pgstore.OpenWide},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			sprung := pgtest.Traps(t, db, c.path, ".", "migrations")
			if _, err := db.Connect(t).Exec(t.Context(), `SELECT FROM unnest(ARRAY['x'::bytea])`); pg.Code(err) != "P0001" || sprung() == "" {
				t.Fatalf("no trap is set: got error %v, want P0001", err)
			}
			run(t, db.Connect(t), `SELECT pg_catalog.setval('public.sprung', 1)`)
			d, err := c.open(t.Context(), pg.Config{URL: db.URL}, 2)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if err := d.Check(t.Context()); err != nil {
				t.Error(err)
			}
			everything(t, begin(t, d, 1))
			if trap := sprung(); trap != "" {
				t.Errorf("the store has sprung the trap %s", trap)
			}
		})
	}
}

// written is how many writes everything makes, forgetting included.
const written = 3

// everything runs each kind of statement.
func everything(t *testing.T, s sequencer.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := sequencertest.Each(ctx, s); err != nil {
		t.Error(err)
	}
}
