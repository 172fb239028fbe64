package pgmint_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A long list of scopes is stored outside its row of conch.process. Whoever asks about many
// scopes reads it once, and not once for each: what `conch status` shows, and the bids after
// a failover, which wait for the longest lease registered. Counted in pages.
func TestListsOfScopesAreReadOnce(t *testing.T) {
	t.Parallel()
	const scopes, asked, processes = 2000, 200, 3
	db := pgtest.New(t)
	s := candidate(t, newMint(t, db.URL), "b", unhurried, election.Strict)
	c := db.Connect(t)
	run(t, c, `INSERT INTO conch.leadership SELECT n, conch.lock_key(n), 1, gen_random_uuid(), 'gone', 1000, 1000, false, 1, 'strict',
		(SELECT system_identifier FROM pg_control_system()), 0, '', now(), now() FROM generate_series(1, $1) g, md5(g::text) n`, scopes)
	run(t, c, `ANALYZE conch.leadership`)
	status := func() int { return touched(t, c, pgmint.LeadershipSQL, "") }
	bids := func() (pages int) {
		tx, err := pgmint.Conn(s).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		return touched(t, tx.Conn(), `SELECT * FROM (SELECT array_agg(l.scope) AS scopes, array_agg(l.lock_key) AS keys
			  FROM (SELECT scope, lock_key FROM conch.leadership ORDER BY scope LIMIT $2) l) a,
			conch.bid('b', $1, 'strict', false, a.scopes, a.keys, array_fill(1000, ARRAY[$2::int]), array_fill(true, ARRAY[$2::int]), 0, false, '{}')`, s.Process(), asked)
	}
	for range 2 { // the first ones read the catalog as well
		status()
		bids()
	}
	statusAlone, bidsAlone := status(), bids()
	run(t, c, `INSERT INTO conch.process (process_key, id, scopes, lease_ms, takeover, locks)
		SELECT p, 'p' || p, (SELECT array_agg(md5(g::text)) FROM generate_series(1, $1) g), 9000, 'strict', 'process' FROM generate_series(1, $2) p`, scopes, processes)
	run(t, c, `SELECT pg_advisory_lock(p) FROM generate_series(1, $1) p`, processes)
	if pages := status() - statusAlone; pages > 5*scopes*processes { // the rows of leadership, found by their index
		t.Errorf("what %d processes campaign for costs a look at all %d scopes %d pages", processes, scopes, pages)
	}
	if pages := bids() - bidsAlone; pages > 5*asked { // a look at one of the lists takes some forty
		t.Errorf("and %d bids after a failover %d pages", asked, pages)
	}
	o, err := pgmint.Observe(t.Context(), pgmint.Config{URL: db.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	const one = "c4ca4238a0b923820dcc509a6f75849b" // the first of them
	all, err := o.Leaderships(t.Context(), one)
	if err != nil || len(all) != 1 || len(all[0].Candidates) != processes {
		t.Errorf("%+v, %v", all, err)
	}
	if r := bid(t, s, election.Bid{Scope: one, Lease: time.Second}); r.Outcome != election.Won || r.Hold != 9*time.Second {
		t.Errorf("%+v", r)
	}
}
