package pg_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

const patience = 10 * time.Second

func TestMain(m *testing.M) {
	pgtest.Main(m)
}

func open(t *testing.T, cfg pg.Config, set pg.Settings) *pg.Session {
	t.Helper()
	s, err := pg.Open(t.Context(), cfg, set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeNow(s) })
	return s
}
