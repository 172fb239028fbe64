package pgrogue_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgrogue"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

const (
	scope    = "flooded"
	patience = 30 * time.Second
)

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		return pgmint.Up(ctx, pgmint.Config{URL: conn.Config().ConnString()}, func(string) {})
	})
	pgtest.Main(m)
}

// mintToken makes a new leader of the scope, whose session lives until end is called.
func mintToken(t *testing.T, db *pgtest.DB, id string) (end func()) {
	t.Helper()
	m, err := pgmint.New(pgmint.Config{URL: db.URL})
	if err != nil {
		t.Fatal(err)
	}
	session, err := m.Open(t.Context(), mint.Candidate{
		ID: id, Lease: 10 * time.Second, Longest: 10 * time.Second, Scopes: []string{scope}, Takeover: mint.Strict,
	})
	if err != nil {
		t.Fatal(err)
	}
	end = func() { _ = session.Close(); m.Close() }
	t.Cleanup(end)
	pgtest.Eventually(t, patience, "a mint", func() bool {
		won, err := session.Try(t.Context(), []mint.Bid{{Scope: scope, Lease: 10 * time.Second}})
		return err == nil && won[0].Outcome == mint.Won
	})
	return end
}

// flood starts eight clients, two of which present tokens that are over.
func flood(t *testing.T, db *pgtest.DB) *pgrogue.Stream {
	t.Helper()
	s, err := pgrogue.Flood(t.Context(), db.URL, scope, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	return s
}

func committed(t *testing.T, s *pgrogue.Stream, more int64) {
	t.Helper()
	all := s.Committed() + more
	pgtest.Eventually(t, patience, "transactions of the stream", func() bool { return s.Committed() >= all })
}

func rows(t *testing.T, db *pgtest.DB) []pgrogue.Streamed {
	t.Helper()
	all, err := pgrogue.ReadStream(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Valid tokens pass through a change of leaders. Others do not.
func TestAStreamPassesWithValidTokensOnly(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	if none := rows(t, db); len(none) > 0 {
		t.Fatalf("got rows without a stream: %+v", none)
	}
	end := mintToken(t, db, "n1")
	s := flood(t, db)
	committed(t, s, 40)
	end()
	mintToken(t, db, "n2")
	committed(t, s, 80)
	for _, r := range s.Stop() {
		if r.Current || r.Code != "CN001" || r.Epoch != 1 || r.At == 0 || r.Took <= 0 {
			t.Errorf("refused: %+v; want refusals of epoch 1 as stale only", r)
		}
	}
	all := rows(t, db)
	if int64(len(all)) < s.Committed() { // a transaction in progress at the end may be committed without being counted
		t.Errorf("got %d rows of %d transactions", len(all), s.Committed())
	}
	clients, newest := map[string]bool{}, int64(1)
	for _, r := range all {
		if clients[r.Node] = true; r.Stale || r.Epoch < newest || r.Term == "" {
			t.Errorf("committed: %+v; want valid tokens in the order of their epochs", r)
		}
		newest = r.Epoch
	}
	if len(clients) != 6 || newest != 2 {
		t.Errorf("got the clients %v and epoch %d, want six and 2", clients, newest)
	}
}

// A stream notices a wrong fence.
func TestAStreamNoticesAWrongFence(t *testing.T) {
	t.Parallel()
	const fence = `CREATE OR REPLACE FUNCTION conch.fence(scope text, epoch bigint, term uuid DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS `
	db := pgtest.New(t)
	mintToken(t, db, "n1")
	change := func(body string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), db.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(t.Context()) }()
		if _, err := conn.Exec(t.Context(), fence+body); err != nil {
			t.Fatal(err)
		}
	}
	change(`$$ BEGIN PERFORM 1; END $$`)
	s := flood(t, db)
	committed(t, s, 80)
	change(`$$ BEGIN RAISE EXCEPTION USING ERRCODE = 'CN001'; END $$`)
	pgtest.Eventually(t, patience, "refusals", func() bool { return s.Refused() > 20 })
	refused := s.Stop()
	if !slices.ContainsFunc(rows(t, db), func(r pgrogue.Streamed) bool { return r.Stale }) {
		t.Error("no stale row was committed, although nothing was fenced")
	}
	current := slices.DeleteFunc(slices.Clone(refused), func(r pgrogue.Refusal) bool { return !r.Current || r.Code != "CN001" })
	if len(current) < 20 {
		t.Errorf("of %d refusals %d are marked as those of the current token, want 20", len(refused), len(current))
	}
}

// A client whose connection is ended begins again, and records the failure.
func TestAStreamOutlivesItsConnections(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	mintToken(t, db, "n1")
	s := flood(t, db)
	committed(t, s, 20)
	conn, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	_, err = conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = $1`, pgrogue.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	committed(t, s, 40)
	ended := func(r pgrogue.Refusal) bool {
		return r.Current && (r.Code == "57P01" || r.Code == "") // a client that was writing does not get the server's last message
	}
	if !slices.ContainsFunc(s.Stop(), ended) {
		t.Error("no client recorded that its connection was ended")
	}
}
