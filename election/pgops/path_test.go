package pgops_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/internal/minttest"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// sources are the folders whose SQL conch sends.
var sources = []string{".", "../pgmint", "../pgmint/migrations", "../../internal/pg", "../../internal/pg/migrate"}

// A user who may create in the schema public, up to Postgres 14 any user, can lay a trap for
// each function and operator that conch uses. Under the default search_path a trap is sprung
// if it fits better than the original in pg_catalog; under the other, each is.
func TestNoTrapIsSprung(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"default path": `"$user", public`, "public first": "public, pg_catalog"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := granted(t)
			sprung := pgtest.Traps(t, c.DB, path, sources...)
			if _, err := c.DB.Connect(t).Exec(t.Context(), `SELECT 1 FROM unnest('{a}'::text[])`); pg.Code(err) != "P0001" || sprung() == "" {
				t.Fatalf("no trap is set: %v", err)
			}
			if _, err := c.DB.Connect(t).Exec(t.Context(), `SELECT pg_catalog.setval('public.sprung', 1)`); err != nil {
				t.Fatal(err)
			}
			for i, try := range []func(){
				func() { c.trySessions(t) }, func() { tryCommands(t, c.DB.URL, c.As(t, c.Node), c.As(t, c.Observer)) }, func() { c.tryOthers(t) },
			} {
				try()
				if trap := sprung(); trap != "" {
					t.Fatalf("part %d sprung %s", i+1, trap)
				}
			}
		})
	}
}

// Behind a pooler a connection keeps the search_path that it finds, since a new one could stay
// on a backend that serves others. No statement sent there may use an unqualified function
// that accepts any type.
func TestNoTrapIsSprungBehindAPooler(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	address := db.PgBouncer(t, pgtest.SessionMode).URL(db.Name)
	sprung := pgtest.Traps(t, db, `"$user", public`, sources...)
	tryCommands(t, address, address, address)
	if trap := sprung(); trap != "" {
		t.Errorf("sprung %s", trap)
	}
}

// trySessions has candidates win, renew, refuse, fence, evict, hand over and take over.
func (c cast) trySessions(t *testing.T) {
	t.Helper()
	for _, locks := range []pgmint.Locks{pgmint.SessionLocks, pgmint.ProcessLocks} {
		cfg := pgmint.Config{URL: c.As(t, c.Node), Locks: locks}
		if err := pgmint.Check(t.Context(), cfg); err != nil {
			t.Error(err)
		}
		m := mintWith(t, cfg)
		a, b := candidate(t, m, "a", unhurried, mint.Strict), candidate(t, m, "b", unhurried, mint.Strict)
		token := lead(t, a, string(locks), unhurried)
		if r := bid(t, b, mint.Bid{Scope: token.Scope, Lease: unhurried}); r.Outcome != mint.Held {
			t.Errorf("%+v", r)
		}
		if r := bid(t, candidate(t, m, "c", unhurried, mint.Fast), mint.Bid{Scope: token.Scope, Lease: unhurried}); r.Outcome != mint.Refused {
			t.Errorf("%+v", r)
		}
		if alive, err := a.Beat(t.Context(), []mint.Pulse{{Token: token, Settle: true}}); err != nil || alive[0] != mint.Renewed {
			t.Error(alive, err)
		}
		if err := b.Enlist(t.Context(), mint.Roll{Add: []string{"more"}, Withdraw: []string{"other"}, Longest: unhurried}); err != nil {
			t.Error(err)
		}
		c.evict(t, m, a, token, func(what string, err error) bool {
			if err != nil {
				t.Error(what, err)
			}
			return err == nil
		})
		token = lead(t, a, string(locks)+" of a process that dies", unhurried)
		minttest.End(t, c.DB, a)
		if gone, err := m.Wait(t.Context(), a.Process()); err != nil || !gone {
			t.Error(gone, err)
		}
		lead(t, b, token.Scope, unhurried)
	}
}

// tryCommands does what the commands of operators do.
func tryCommands(t *testing.T, ownerURL, nodeURL, observerURL string) {
	t.Helper()
	owner, node := pgmint.Config{URL: ownerURL}, pgmint.Config{URL: nodeURL}
	a := obedient(t, nodeURL, "a", election.Role{})
	wait(t, a, fence.Act)
	b := obedient(t, nodeURL, "b", election.Role{})
	pgtest.Eventually(t, unhurried, "b to follow", func() bool { return b.Snapshot()[0].Holder == "a" })
	if _, err := pgops.Ask(t.Context(), node, pgops.Request{Scope: "s", To: "b", Actor: "ops", Timeout: unhurried}, func(string) {}); err != nil {
		t.Error(err)
	}
	wait(t, b, fence.Act)
	var held *pgmint.HeldError
	if err := pgmint.Down(t.Context(), owner, nil); !errors.As(err, &held) {
		t.Error(err)
	}
	if err := pgops.Advance(t.Context(), owner, "s", 1_000_000, "ops"); err != nil {
		t.Error(err)
	}
	if err := pgops.Advance(t.Context(), owner, "never led", 9, "ops"); err != nil {
		t.Error(err)
	}
	if err := pgmint.Check(t.Context(), owner); err != nil {
		t.Error(err)
	}
	o := observe(t, observerURL)
	if all, err := o.Scopes(t.Context(), ""); err != nil || len(all) == 0 {
		t.Error(all, err)
	}
	if all, err := o.History(t.Context(), "s", 3); err != nil || len(all) == 0 {
		t.Error(all, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := o.Watch(ctx, "s", func(pgops.Event) error { return nil }); err != nil && ctx.Err() == nil {
		t.Error(err)
	}
}

// tryOthers calls, over an application's connection, the functions that applications and
// people call over theirs, and fires the triggers.
func (c cast) tryOthers(t *testing.T) {
	t.Helper()
	conn := c.DB.Connect(t)
	for _, sql := range []string{
		`SELECT conch.lock_key('s')`, `SELECT conch.fence_key('s')`,
		`SELECT conch.advance('others', 7, 'ops')`, `SELECT conch.advance('others', 8, 'ops')`, `SELECT conch.forget('others')`,
		`SELECT conch.enlist(1, '{s}', '{t}', 1)`, `SELECT conch.evict_fences('s', 1)`, `SELECT conch.obstacle('s', 1)`,
		`UPDATE conch.leadership SET parted_at = NULL`, `UPDATE conch.leadership SET parted_at = pg_catalog.clock_timestamp()`,
		`INSERT INTO conch.command (scope, epoch, verb, actor, timeout_ms) VALUES ('s', 1, 'drain', 'ops', 1)`,
		`TABLE conch.leader_heartbeat`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, sql := range []string{`UPDATE conch.leadership SET epoch = -1`, `TRUNCATE conch.leadership`} {
		if _, err := conn.Exec(t.Context(), sql); pg.Code(err) != "P0001" {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
