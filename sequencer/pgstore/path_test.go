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

// No SQL of this package springs a trap of a role that may create objects in public.
func TestNoTrapIsSprung(t *testing.T) {
	t.Parallel()
	pgtest.SpringsNoTrap(t, `SELECT FROM unnest(ARRAY['x'::bytea])`, func(t *testing.T, db *pgtest.DB, wide bool) {
		t.Helper()
		open := pgstore.Open
		if wide {
			open = pgstore.OpenWide
		}
		d, err := open(t.Context(), pg.Config{URL: db.URL}, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if err := d.Check(t.Context()); err != nil {
			t.Error(err)
		}
		everything(t, begin(t, d, 1))
	})
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
