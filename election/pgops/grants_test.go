package pgops_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// grant is one privilege of a role, with the statements that revoke and give it.
type grant struct{ role, what, revoke, give string }

// grants reads every privilege that the three roles have in the schema.
func (c cast) grants(t *testing.T, admin *pgx.Conn) []grant {
	t.Helper()
	rows, err := admin.Query(t.Context(), `
	WITH object AS (
		SELECT 'schema conch' AS name, nspacl AS acl, '' AS col FROM pg_namespace WHERE nspname = 'conch'
		UNION ALL SELECT 'conch.' || relname, relacl, '' FROM pg_class WHERE relnamespace = 'conch'::regnamespace
		UNION ALL SELECT 'conch.' || relname, attacl, ' (' || attname || ')'
		  FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid WHERE relnamespace = 'conch'::regnamespace
		UNION ALL SELECT format('function conch.%s(%s)', proname, pg_get_function_identity_arguments(oid)), proacl, '' FROM pg_proc WHERE pronamespace = 'conch'::regnamespace
	)
	SELECT r.rolname, a.privilege_type || o.col || ' ON ' || o.name
	  FROM object o, aclexplode(o.acl) a JOIN pg_roles r ON r.oid = a.grantee WHERE r.rolname = ANY ($1)
	UNION ALL
	SELECT m.member::regrole::text, 'membership in ' || m.roleid::regrole FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member
	 WHERE r.rolname = ANY ($1) ORDER BY 1, 2`, []string{c.Node, c.Fence, c.Observer})
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (g grant, err error) {
		err = row.Scan(&g.role, &g.what)
		g.role = strings.Trim(g.role, `"`)
		g.revoke = fmt.Sprintf(`REVOKE %s FROM %q`, g.what, g.role)
		g.give = fmt.Sprintf(`GRANT %s TO %q`, g.what, g.role)
		if role, ok := strings.CutPrefix(g.what, "membership in "); ok {
			g.revoke = fmt.Sprintf(`REVOKE %s FROM %q`, role, g.role)
			g.give = fmt.Sprintf(`GRANT %s TO %q`, role, g.role)
		}
		return g, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// needs names, for each grant of deploy/grants.sql, an operation that fails without it.
var needs = map[string]string{
	"node: USAGE ON schema conch":                  "node: check",
	"node: SELECT ON conch.schema_version":         "node: check",
	"node: SELECT ON conch.leadership":             "node: status",
	"node: INSERT ON conch.leadership":             "node: bid",
	"node: UPDATE ON conch.leadership":             "node: bid",
	"node: SELECT ON conch.heartbeat":              "node: bid",
	"node: SELECT ON conch.leader_heartbeat":       "node: status",
	"node: INSERT ON conch.heartbeat":              "node: bid",
	"node: UPDATE ON conch.heartbeat":              "node: bid",
	"node: SELECT ON conch.leadership_history":     "node: history",
	"node: INSERT ON conch.leadership_history":     "node: bid",
	"node: SELECT ON conch.process":                "node: register",
	"node: INSERT ON conch.process":                "node: register",
	"node: DELETE ON conch.process":                "node: register",
	"node: UPDATE (last_seen) ON conch.process":    "node: stay registered",
	"node: UPDATE (scopes) ON conch.process":       "node: enlist",
	"node: UPDATE (withdrawn) ON conch.process":    "node: enlist",
	"node: UPDATE (lease_ms) ON conch.process":     "node: enlist",
	"node: UPDATE (tombstoned) ON conch.process":   "node: depose",
	"node: EXECUTE ON function conch.bury":         "node: depose",
	"node: EXECUTE ON function conch.beat_process": "node: beat by process",
	"node: EXECUTE ON function conch.enlist":       "node: enlist",
	"node: SELECT ON conch.command":                "node: read commands",
	"node: INSERT ON conch.command":                "node: ask",
	"node: UPDATE (state) ON conch.command":        "node: take a command",
	"node: UPDATE (result) ON conch.command":       "node: answer a command",
	"node: UPDATE (done_at) ON conch.command":      "node: answer a command",
	"node: EXECUTE ON function conch.register":     "node: register",
	"node: EXECUTE ON function conch.bid":          "node: bid",
	"node: EXECUTE ON function conch.refused":      "node: bid",
	"node: EXECUTE ON function conch.fence_key":    "node: bid",
	"node: EXECUTE ON function conch.seen":         "node: beat by process",
	"node: EXECUTE ON function conch.settle":       "node: beat",
	"node: EXECUTE ON function conch.beat":         "node: beat",
	"node: EXECUTE ON function conch.part":         "node: part",
	"node: EXECUTE ON function conch.evict_fences": "node: evict",
	"node: membership in fence":                    "node: evict",
	"node: EXECUTE ON function conch.holders":      "node: explain",
	"node: EXECUTE ON function conch.row_holders":  "node: explain",
	"node: EXECUTE ON function conch.culprit":      "node: explain",
	"node: EXECUTE ON function conch.obstacle":     "node: explain",
	"fence: USAGE ON schema conch":                 "fence: fence",
	"fence: EXECUTE ON function conch.fence":       "fence: fence",
	"observer: USAGE ON schema conch":              "observer: check",
	"observer: SELECT ON conch.schema_version":     "observer: check",
	"observer: SELECT ON conch.leadership":         "observer: status",
	"observer: SELECT ON conch.process":            "observer: status",
	"observer: SELECT ON conch.leadership_history": "observer: history",
	"observer: SELECT ON conch.heartbeat":          "observer: explain",
	"observer: SELECT ON conch.leader_heartbeat":   "observer: leader_heartbeat",

	"observer: EXECUTE ON function conch.holders":     "observer: explain",
	"observer: EXECUTE ON function conch.row_holders": "observer: explain",
	"observer: EXECUTE ON function conch.culprit":     "observer: explain",
	"observer: EXECUTE ON function conch.obstacle":    "observer: explain",
	"observer: EXECUTE ON function conch.fence_key":   "observer: explain",
}

// S29: the grants of deploy/grants.sql are enough for every operation, and each one is
// needed: by day every third is taken away once. An error without one says what to do.
func TestGrants(t *testing.T) { //nolint:tparallel // one grant is missing at a time
	runtest.LongRun(t)
	t.Parallel()
	c := granted(t)
	c.Script(t) // it may be repeated
	admin := c.DB.Connect(t)
	if failed := c.operations(t, "whole", ""); len(failed) > 0 {
		t.Fatalf("with all grants these operations fail: %v", failed)
	}
	open := maps.Clone(needs)
	for i, g := range c.grants(t, admin) {
		name := c.short(g)
		if i%3 != 0 && needs[name] != "" && !runtest.Nightly() {
			delete(open, name)
			continue
		}
		// Membership in fence brings USAGE too, so both are revoked.
		both := name == "node: USAGE ON schema conch"
		if both {
			run(t, admin, fmt.Sprintf(`REVOKE %q FROM %q`, c.Fence, c.Node))
		}
		run(t, admin, g.revoke)
		var failed map[string]error
		t.Run(name, func(t *testing.T) { // so that its connections end before the next one
			failed = c.operations(t, fmt.Sprint("without ", i), group(needs[name]))
		})
		run(t, admin, g.give)
		if both {
			run(t, admin, fmt.Sprintf(`GRANT %q TO %q`, c.Fence, c.Node))
		}
		operation, known := needs[name]
		delete(open, name)
		err := failed[operation]
		switch {
		case !known:
			t.Errorf("%s: the test names no operation that needs it", name)
		case err == nil:
			t.Errorf("%s: %q works without it, want it to fail; %v fail", name, operation, failed)
		case operation == "node: evict" && strings.Contains(name, "membership"):
			if !strings.Contains(err.Error(), "not ended: ") {
				t.Errorf("%s: %v", name, err)
			}
		case pg.Code(err) != "42501" || !strings.Contains(pg.Sentence(err), "deploy/grants.sql"):
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("without %-48s %-24s %s", name, operation, pg.Sentence(err))
	}
	for name := range open {
		t.Errorf("%s is not granted, and an operation needs it", name)
	}
}

// group returns the group of an operation; empty if it is unknown.
func group(operation string) string {
	for g, all := range groups {
		if slices.Contains(all, operation) {
			return g
		}
	}
	return ""
}

// short is the name of a grant, the same in every run.
func (c cast) short(g grant) string {
	who := map[string]string{c.Node: "node", c.Fence: "fence", c.Observer: "observer"}
	what, _, _ := strings.Cut(strings.Replace(g.what, " "+c.Fence, " fence", 1), "(")
	if strings.HasPrefix(g.what, "UPDATE (") {
		what = g.what
	}
	return who[g.role] + ": " + what
}

// The observer may change nothing, fence may read nothing, and a node may neither set an
// epoch nor delete history.
func TestGrantsAreNarrow(t *testing.T) {
	t.Parallel()
	c := granted(t)
	for role, statements := range map[string][]string{
		c.Observer: {
			`UPDATE conch.leadership SET released = true`, `DELETE FROM conch.process`, `SELECT FROM conch.command`,
			`SELECT conch.fence('s', 1)`, `SELECT conch.beat('{}', '{}', '{}')`, `SELECT conch.advance('s', 9, 'me')`,
		},
		c.Fence: {`SELECT FROM conch.leadership`, `SELECT FROM conch.schema_version`, `SELECT conch.evict_fences('s', 1)`, `SELECT conch.fence_key('s')`},
		c.Node: {
			`DELETE FROM conch.leadership`, `TRUNCATE conch.leadership`, `DELETE FROM conch.leadership_history`,
			`UPDATE conch.leadership_history SET actor = 'x'`, `ALTER TABLE conch.leadership DISABLE TRIGGER guard_epoch`,
			`SELECT conch.advance('s', 9, 'me')`, `SELECT conch.forget('s')`, `UPDATE conch.command SET actor = 'x'`, `CREATE TABLE conch.mine ()`,
		},
	} {
		conn := pgtest.Connect(t, pg.Config{URL: c.As(t, role)})
		for _, sql := range statements {
			if _, err := conn.Exec(t.Context(), sql); pg.Code(err) != "42501" {
				t.Errorf("%s may %s: %v", role, sql, err)
			}
		}
	}
	// What a later migration adds must be granted, or listed here as the owner's.
	var left []string
	rows, err := c.DB.Connect(t).Query(t.Context(), `SELECT proname::text FROM pg_proc WHERE pronamespace = 'conch'::regnamespace AND proname <> ALL ($1)
		UNION SELECT relname FROM pg_class WHERE relnamespace = 'conch'::regnamespace AND relkind IN ('r', 'v', 'p', 'm') AND relname <> ALL ($1)`,
		slices.Concat([]string{"advance", "forget", "announce", "announce_command", "guard_epoch", "guard_truncate", "lock_key", "system_id", "timeline", "fence_closely"}, // the owner's
			[]string{
				"register", "enlist", "bid", "refused", "bury", "settle", "seen", "beat", "beat_process", "part", "evict_fences", "obstacle", "holders", "row_holders", "culprit", "fence_key", "fence", "leadership", "leadership_history",
				"heartbeat", "process", "command", "history_trim", "schema_version", "leader_heartbeat",
			}))
	if err == nil {
		left, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil || len(left) > 0 {
		t.Errorf("deploy/grants.sql says nothing about %v, %v", left, err)
	}
}

// S29: two electors, a transfer, a drain, a watcher and a fenced writer all work, each with
// no other privileges than those of its role in deploy/grants.sql.
func TestAnElectionUnderTheGrants(t *testing.T) {
	t.Parallel()
	c := granted(t)
	admin := c.DB.Connect(t)
	run(t, admin, `CREATE TABLE public.work (n int)`)
	run(t, admin, `GRANT INSERT ON public.work TO `+c.Fence)
	node := pgmint.Config{URL: c.As(t, c.Node)}

	o := observe(t, c.As(t, c.Observer))
	seen, enough := []string{}, errors.New("enough")
	watched := make(chan error, 1)
	go func() {
		watched <- o.Watch(t.Context(), "s", func(e pgops.Event) error {
			seen = append(seen, e.Event)
			if len(seen) == 5 {
				return enough
			}
			return nil
		})
	}()
	pgtest.Eventually(t, 10*time.Second, "the watcher to listen", func() bool {
		var n int
		return admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'conch watcher'`).Scan(&n) == nil && n == 1
	})

	a := obedient(t, node.URL, "a", election.Role{})
	token := wait(t, a, fence.Act)
	write := func(token fence.Token) error {
		conn := pgtest.Connect(t, pg.Config{URL: c.As(t, c.Fence)})
		tx, err := conn.Begin(t.Context())
		if err != nil {
			return err
		}
		if _, err = tx.Exec(t.Context(), `INSERT INTO public.work VALUES (1)`); err == nil {
			err = pgfence.Fence(t.Context(), tx, token)
		}
		if err != nil {
			return errors.Join(err, tx.Rollback(t.Context()))
		}
		return tx.Commit(t.Context())
	}
	if err := write(token); err != nil {
		t.Errorf("the leader's write: %v", err)
	}
	b := obedient(t, node.URL, "b", election.Role{})
	pgtest.Eventually(t, 10*time.Second, "b to follow", func() bool { return b.Snapshot()[0].Holder == "a" })
	if _, err := pgops.Ask(t.Context(), node, pgops.Request{Scope: "s", To: "b", Actor: "ops", Timeout: 5 * time.Second}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	wait(t, b, fence.Act)
	if err := write(token); !errors.Is(err, fence.ErrStale) {
		t.Errorf("the old leader's write: got %v, want ErrStale", err)
	}
	if _, err := pgops.Ask(t.Context(), node, pgops.Request{Scope: "s", Actor: "ops", Timeout: 5 * time.Second}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	wait(t, a, fence.Act)
	if err := <-watched; !errors.Is(err, enough) || !slices.Equal(seen, []string{"acquired", "transferred", "acquired", "drained", "acquired"}) {
		t.Errorf("the watcher saw %v, %v, want two handovers", seen, err)
	}
}
