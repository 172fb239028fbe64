package pgstore_test

import (
	"testing"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// P28, P38: what is promised is durable. Every start and every write changes the row of its node, so each of them is a commit that is
// waited for.
func TestWhatIsPromisedIsDurable(t *testing.T) {
	t.Parallel()
	pgtest.Durable(t, func(t *testing.T, db *pgtest.DB, cfg pg.Config) {
		t.Helper()
		d := opened(t, cfg)
		begin(t, d, 1)
		s := begin(t, d, 1)
		everything(t, s)
		write(t, s, submitted(1, "a")) // it is there
		var commits int
		if err := db.Connect(t).QueryRow(t.Context(), `SELECT count(*) FROM public.seen`).Scan(&commits); err != nil || commits != 2+written+1 {
			t.Errorf("%d commits changed the node's row, error %v; want %d", commits, err, 2+written+1)
		}
	}, "INSERT sequencer_nodes", "UPDATE sequencer_nodes")
}
