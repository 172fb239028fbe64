package contracts

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/sequencer/pgstore"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

// S9: the store of a leader under the election's own fence. Its standby goes on with the same rows, and the leader that
// was deposed writes no more.
func TestAStandbyGoesOn(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	tables, err := pgstore.Open(t.Context(), db.Config(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer tables.Close()
	first, leave := nodetest.Lead(t, db.URL, "one", scope, time.Minute)
	old, err := tables.Begin(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if err := sequencertest.Each(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	leave()
	second, _ := nodetest.Lead(t, db.URL, "two", scope, time.Minute)
	if err := sequencertest.Each(t.Context(), old); !errors.Is(err, fence.ErrStale) {
		t.Errorf("the deposed leader: %v, want ErrStale", err)
	}
	fresh, err := tables.Begin(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	if err := sequencertest.Each(t.Context(), fresh); err != nil { // all was there
		t.Error(err)
	}
}

// A leader freezes while it sends a write, so that the server has half of it, with the lock of its turn. The successor's mint
// ends that transaction, and it can start. If the fence came last, the successor would wait for the frozen node for ever.
func TestAFrozenWriteIsEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	db := pgtest.New(t)
	proxy, url := db.Proxy(t)
	open := func(cfg pg.Config) *pgstore.Database {
		tables, err := pgstore.Open(ctx, cfg, 2)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(tables.Close)
		return tables
	}
	const lease = time.Second
	first, leave := nodetest.Lead(t, db.URL, "one", scope, lease)
	old, err := open(pg.Config{URL: url, AppName: "frozen"}).Begin(ctx, first)
	if err == nil {
		err = sequencertest.Each(ctx, old)
	}
	if err != nil {
		t.Fatal(err)
	}
	proxy.Delay(20 * time.Millisecond) // for each 32 kB
	ended := make(chan error, 1)
	go func() {
		ended <- sequencertest.Accept(ctx, old, "large", make([]byte, 16<<20))
	}()
	admin := db.Connect(t)
	pgtest.Eventually(t, patience, "the server has half of the write", func() bool {
		var is bool
		err := admin.QueryRow(ctx, `SELECT bool_or(backend_xid IS NOT NULL) FROM pg_stat_activity WHERE application_name = 'frozen'`).Scan(&is)
		return err == nil && is
	})
	proxy.Blackhole(tcpproxy.Both)
	leave()
	second, _ := nodetest.Lead(t, db.URL, "two", scope, lease)
	fresh, err := open(db.Config()).Begin(ctx, second)
	if err == nil {
		err = sequencertest.Each(ctx, fresh) // what was there, and nothing of the large one
	}
	if err != nil {
		t.Error(err)
	}
	proxy.Heal()
	if err := <-ended; err == nil {
		t.Error("the frozen write has ended well")
	}
}
