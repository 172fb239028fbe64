package pgstore_test

import (
	"testing"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// sync-first: what is told is durable.
func TestWhatIsToldIsDurable(t *testing.T) {
	t.Parallel()
	pgtest.Durable(t, func(t *testing.T, db *pgtest.DB, cfg pg.Config) {
		t.Helper()
		everything(t, opened(t, cfg), db.Connect(t))
	}, "INSERT log", "UPDATE log")
}
