//go:build unix

package transactions

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// looked counts how often a transaction is looked up.
type looked struct {
	*pgstore.Store

	n atomic.Int64
}

func (l *looked) Get(ctx context.Context, id pending.ID) (pending.Record, error) {
	defer l.n.Add(1)
	return l.Store.Get(ctx, id)
}

// A thousand requests that wait for a transaction have the database asked once a second, over no connection of their own; ten statements in
// all are for what a node does besides. The next one is refused, and told when to ask again. When the transaction ends all are answered. By
// day TestAThousandWaitForNothing shows that none of them looks.
func TestAThousandWaitersAtRest(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	m := openMail(t)
	in := m.accept("one")
	store := &looked{Store: m.store}
	m.out.accounts.stores[payerAccount.Chain.ID()] = store
	site := webtest.Site(t, &webtest.Log{}, newAPI(m.out, slog.New(slog.DiscardHandler)).routes(), nil).API()
	watch, own := pgtest.New(t).Connect(t), m.pg.Connect(t)
	var name string
	if err := own.QueryRow(t.Context(), `SELECT current_database()`).Scan(&name); err != nil {
		t.Fatal(err)
	}
	_ = own.Close(t.Context())
	stat := func(sql string) (n int64) {
		t.Helper()
		if err := watch.QueryRow(t.Context(), sql, name).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	atRest := func(what string, long time.Duration) (statements int64, took time.Duration) {
		const sql = `SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1`
		before, began := stat(sql), time.Now()
		pgtest.Eventually(t, time.Minute, "some time passes", func() bool { return time.Since(began) > long })
		statements, took = stat(sql)-before, time.Since(began)
		t.Logf("%s: %d statements in %v, over %d connections", what, statements, took.Round(time.Millisecond), stat(`SELECT count(*) FROM pg_stat_activity WHERE datname = $1`))
		return statements, took
	}
	_, _ = atRest("nobody waits, once it has begun", 10*time.Second)
	var answered sync.WaitGroup
	var ok atomic.Int64
	ask := func() *httptest.ResponseRecorder {
		out := httptest.NewRecorder()
		site.ServeHTTP(out, exchange{Ask: "GET " + toTX + "/" + idText(in.ID) + "?wait=60s&until=final"}.Request())
		return out
	}
	for range mostWaits {
		answered.Go(func() {
			if ask().Code == 200 {
				ok.Add(1)
			}
		})
	}
	pgtest.Eventually(t, time.Minute, "all have looked", func() bool { return store.n.Load() == mostWaits })
	if out := ask(); out.Code != 503 || out.Header().Get("Retry-After") != "1" {
		t.Errorf("one more is answered with %d, %v, %s", out.Code, out.Header(), out.Body)
	}
	_, _ = atRest("the looks are published", 12*time.Second) // a server publishes what a session did up to ten seconds later
	with, took := atRest("a thousand wait", 10*time.Second)
	if most := int64(took/time.Second) + 10; with > most || store.n.Load() != mostWaits {
		t.Errorf("%d statements in %v while a thousand wait, %d looks; want %d statements at most", with, took, store.n.Load(), most)
	}
	if n := stat(`SELECT count(*) FROM pg_stat_activity WHERE datname = $1`); n > connections+pgstoreReaders+2 {
		t.Errorf("a thousand wait over %d connections", n)
	}
	if err := m.store.Cancel(t.Context(), in.ID); err != nil {
		t.Fatal(err)
	}
	pgtest.Within(t, time.Minute, "all are answered", answered.Wait)
	if ok.Load() != mostWaits {
		t.Errorf("%d were answered with how it stands, want all", ok.Load())
	}
}

// pgstoreReaders is how many connections a database has for those who look.
const pgstoreReaders = 3
