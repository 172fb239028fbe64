package pgmint_test

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// cast are the three roles of deploy/grants.sql. Roles belong to the whole server,
// so each database has some of its own.
type cast struct {
	db                    *pgtest.DB
	node, fence, observer string
}

func granted(t *testing.T) cast {
	t.Helper()
	db := pgtest.New(t)
	c := cast{db: db, node: db.Name + "_Node", fence: db.Name + "_fence", observer: db.Name + "_observer"}
	c.script(t)
	admin := db.Connect(t)
	for _, role := range []string{c.node, c.fence, c.observer} {
		run(t, admin, fmt.Sprintf(`ALTER ROLE %q LOGIN`, role))
	}
	return c
}

// script runs deploy/grants.sql as its users do.
func (c cast) script(t *testing.T) {
	t.Helper()
	bin, err := postmaster.Binaries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	psql := filepath.Join(bin, "psql")
	if _, err := os.Stat(psql); err != nil {
		if psql, err = exec.LookPath("psql"); err != nil {
			t.Skip("deploy/grants.sql is a script for psql, which is not beside the server's programs")
		}
	}
	cmd := exec.CommandContext(t.Context(), psql, "-X", "-q", c.db.URL, "-v", "node="+c.node, "-v", "fence="+c.fence,
		"-v", "observer="+c.observer, "-f", filepath.FromSlash("../../deploy/grants.sql"))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("deploy/grants.sql: %v\n%s", err, out)
	}
}

func (c cast) as(t *testing.T, role string) string {
	t.Helper()
	u, err := url.Parse(c.db.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// grant is one line of the access lists, with the operation that needs it.
type grant struct{ role, what, revoke, give string }

// grants reads every privilege in the schema that the three roles have.
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
	 WHERE r.rolname = ANY ($1) ORDER BY 1, 2`, []string{c.node, c.fence, c.observer})
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

// operations runs everything once under exactly the roles, and says what failed.
// What can not begin without another operation is not counted as failed.
func (c cast) operations(t *testing.T, scope string) map[string]error {
	t.Helper()
	failed := map[string]error{}
	try := func(name string, err error) bool {
		if err != nil {
			failed[name] = err
		}
		return err == nil
	}
	node := pgmint.Config{URL: c.as(t, c.node)}
	try("node: check", pgmint.Check(t.Context(), node))
	c.look(t, "node", c.node, scope, try)
	c.look(t, "observer", c.observer, scope, try)
	c.command(t, scope, try)

	m := newMint(t, node.URL)
	candidate := election.Candidate{ID: "a", Lease: time.Second, Longest: time.Second, Takeover: election.Strict, Scopes: []string{scope}}
	a, err := m.Open(t.Context(), candidate)
	if !try("node: register", err) {
		// What needs a session is not reached; the fence is asked with a token of nobody.
		c.fenced(t, fence.Token{Scope: scope, Epoch: 1}, try)
		return failed
	}
	defer func() { _ = a.Close() }()
	_, err = pgtest.Connect(t, pg.Config{URL: node.URL}).Exec(t.Context(), `UPDATE conch.process SET last_seen = clock_timestamp() WHERE process_key = $1`, a.Process())
	try("node: stay registered", err)
	try("node: withdraw", m.Withdraw(t.Context(), a.Process(), "other"))
	won, err := a.Try(t.Context(), []election.Bid{{Scope: scope, Lease: time.Second}})
	if !try("node: bid", err) {
		c.fenced(t, fence.Token{Scope: scope, Epoch: 1}, try)
		return failed
	}
	token := won[0].Token
	_, err = a.Beat(t.Context(), []election.Pulse{{Token: token, Settle: true}})
	try("node: beat", err)
	c.fenced(t, token, try)
	c.depose(t, node, scope+"/deposed", try)
	c.evict(t, m, a, token, try)
	return failed
}

// depose leads by a process key, loses the key, and lets the next candidate take over.
func (c cast) depose(t *testing.T, node pgmint.Config, scope string, try func(string, error) bool) {
	t.Helper()
	node.Locks = pgmint.ProcessLocks
	m := mintWith(t, node)
	open := func(id string) election.Session {
		s, err := m.Open(t.Context(), election.Candidate{ID: id, Lease: 9 * time.Second, Longest: 9 * time.Second, Takeover: election.Strict, Scopes: []string{scope}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	first, second := open("first"), open("second")
	won, err := first.Try(t.Context(), []election.Bid{{Scope: scope, Lease: 9 * time.Second}})
	if err != nil {
		return // has been counted
	}
	_, err = first.Beat(t.Context(), []election.Pulse{{Token: won[0].Token}})
	try("node: beat by process", err)
	if err := pgmint.UnlockAll(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	_, err = second.Try(t.Context(), []election.Bid{{Scope: scope, Lease: 9 * time.Second}})
	try("node: depose", err)
}

// look is what `conch status`, `history` and `watch` read.
func (c cast) look(t *testing.T, who, role, scope string, try func(string, error) bool) {
	t.Helper()
	o, err := pgmint.Observe(t.Context(), pgmint.Config{URL: c.as(t, role)})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	_, err = o.Leaderships(t.Context(), scope)
	try(who+": status", err)
	_, err = o.History(t.Context(), scope, 1)
	try(who+": history", err)
	if role != c.observer {
		return
	}
	try(who+": check", pgmint.Check(t.Context(), pgmint.Config{URL: c.as(t, role)}))
	_, err = pgtest.Connect(t, pg.Config{URL: c.as(t, role)}).Exec(t.Context(), `SELECT provider_id, instance_id, last_seen FROM conch.leader_heartbeat`)
	try(who+": leader_heartbeat", err)
}

// command asks and answers as pgmint.Ask and pgmint.Obey do.
func (c cast) command(t *testing.T, scope string, try func(string, error) bool) {
	t.Helper()
	conn := pgtest.Connect(t, pg.Config{URL: c.as(t, c.node)})
	var id int64
	err := conn.QueryRow(t.Context(), `INSERT INTO conch.command (scope, epoch, verb, actor, timeout_ms) VALUES ($1, 0, 'drain', 'test', 1) RETURNING id`, scope).Scan(&id)
	try("node: ask", err)
	_, err = conn.Exec(t.Context(), `SELECT id, verb FROM conch.command WHERE state IN ('asked', 'warm') AND scope = $1`, scope)
	try("node: read commands", err)
	_, err = conn.Exec(t.Context(), `UPDATE conch.command SET state = 'taken' WHERE id = $1 AND state IN ('asked', 'warm')`, id)
	try("node: take a command", err)
	_, err = conn.Exec(t.Context(), `UPDATE conch.command SET state = 'done', result = '', done_at = clock_timestamp() WHERE id = $1`, id)
	try("node: answer a command", err)
}

// fenced calls the fence as both roles that may.
func (c cast) fenced(t *testing.T, token fence.Token, try func(string, error) bool) {
	t.Helper()
	for who, role := range map[string]string{"node: fence": c.node, "fence: fence": c.fence} {
		err := pgmint.Fence(t.Context(), pgtest.Connect(t, pg.Config{URL: c.as(t, role)}), token)
		if !errors.Is(err, fence.ErrStale) || token.Term != (fence.Token{}).Term {
			try(who, err)
		}
	}
}

// evict leaves a fenced transaction open, gives the scope up, and lets the next
// candidate end that transaction.
func (c cast) evict(t *testing.T, m *pgmint.Mint, a election.Session, token fence.Token, try func(string, error) bool) {
	t.Helper()
	blocker := pgtest.Connect(t, pg.Config{URL: c.as(t, c.fence)})
	tx, err := blocker.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if pgmint.Fence(t.Context(), tx, token) != nil {
		return // has been counted
	}
	_, err = a.Release(t.Context(), []election.Farewell{{Token: token, Reason: "test"}})
	if !try("node: part", err) {
		return
	}
	b, err := m.Open(t.Context(), election.Candidate{ID: "b", Lease: time.Second, Longest: time.Second, Takeover: election.Strict, Scopes: []string{token.Scope}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	next, err := b.Try(t.Context(), []election.Bid{{Scope: token.Scope, Lease: time.Second, Block: 50 * time.Millisecond, Evict: true}})
	if err == nil && len(next[0].Evicted) != 1 {
		err = fmt.Errorf("evicted %v", next[0].Evicted)
	} else if err == nil && strings.Contains(next[0].Evicted[0].Query, "not ended") {
		err = errors.New(next[0].Evicted[0].Query)
	}
	try("node: evict", err)
}

// needs names, for every grant of deploy/grants.sql, an operation that fails
// without it.
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
	"node: UPDATE (withdrawn) ON conch.process":    "node: withdraw",
	"node: UPDATE (tombstoned) ON conch.process":   "node: depose",
	"node: EXECUTE ON function conch.bury":         "node: depose",
	"node: EXECUTE ON function conch.beat_process": "node: beat by process",
	"node: EXECUTE ON function conch.withdraw":     "node: withdraw",
	"node: SELECT ON conch.command":                "node: read commands",
	"node: INSERT ON conch.command":                "node: ask",
	"node: UPDATE (state) ON conch.command":        "node: take a command",
	"node: UPDATE (result) ON conch.command":       "node: answer a command",
	"node: UPDATE (done_at) ON conch.command":      "node: answer a command",
	"node: EXECUTE ON function conch.register":     "node: register",
	"node: EXECUTE ON function conch.bid":          "node: bid",
	"node: EXECUTE ON function conch.refused":      "node: bid",
	"node: EXECUTE ON function conch.fence_key":    "node: bid",
	"node: EXECUTE ON function conch.beat":         "node: beat",
	"node: EXECUTE ON function conch.part":         "node: part",
	"node: EXECUTE ON function conch.evict_fences": "node: evict",
	"node: membership in fence":                    "node: evict",
	"fence: USAGE ON schema conch":                 "fence: fence",
	"fence: EXECUTE ON function conch.fence":       "fence: fence",
	"observer: USAGE ON schema conch":              "observer: check",
	"observer: SELECT ON conch.schema_version":     "observer: check",
	"observer: SELECT ON conch.leadership":         "observer: status",
	"observer: SELECT ON conch.process":            "observer: status",
	"observer: SELECT ON conch.leadership_history": "observer: history",
	"observer: SELECT ON conch.leader_heartbeat":   "observer: leader_heartbeat",
}

// S29: what deploy/grants.sql grants is enough for everything and none of it is
// too much; whoever lacks one is told what to do.
func TestGrants(t *testing.T) { //nolint:tparallel // one grant is missing at a time
	t.Parallel()
	c := granted(t)
	c.script(t) // again: it may
	admin := c.db.Connect(t)
	if failed := c.operations(t, "whole"); len(failed) > 0 {
		t.Fatalf("with all grants: %v", failed)
	}
	open := maps.Clone(needs)
	for i, g := range c.grants(t, admin) {
		name := c.short(g)
		// Membership in fence brings USAGE too; a node has its own, so that the
		// membership alone can be withdrawn.
		both := name == "node: USAGE ON schema conch"
		if both {
			run(t, admin, fmt.Sprintf(`REVOKE %q FROM %q`, c.fence, c.node))
		}
		run(t, admin, g.revoke)
		var failed map[string]error
		t.Run(name, func(t *testing.T) { // so that its connections do not last until the end of all
			failed = c.operations(t, fmt.Sprint("without ", i))
		})
		run(t, admin, g.give)
		if both {
			run(t, admin, fmt.Sprintf(`GRANT %q TO %q`, c.fence, c.node))
		}
		operation, known := needs[name]
		delete(open, name)
		err := failed[operation]
		switch {
		case !known:
			t.Errorf("%s: no operation is named that needs it", name)
		case err == nil:
			t.Errorf("%s: without it %q works; what fails is %v", name, operation, failed)
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
		t.Errorf("%s is not granted, and something needs it", name)
	}
}

// short is a grant's name without what differs between runs.
func (c cast) short(g grant) string {
	who := map[string]string{c.node: "node", c.fence: "fence", c.observer: "observer"}
	what, _, _ := strings.Cut(strings.Replace(g.what, " "+c.fence, " fence", 1), "(")
	if strings.HasPrefix(g.what, "UPDATE (") {
		what = g.what
	}
	return who[g.role] + ": " + what
}

// What the roles must not: the observer changes nothing, fence reads nothing, a
// node forges no epoch and forgets nothing.
func TestGrantsAreNarrow(t *testing.T) {
	t.Parallel()
	c := granted(t)
	for role, statements := range map[string][]string{
		c.observer: {
			`UPDATE conch.leadership SET released = true`, `DELETE FROM conch.process`, `SELECT FROM conch.command`,
			`SELECT conch.fence('s', 1)`, `SELECT conch.beat('{}', '{}', '{}')`, `SELECT conch.advance('s', 9, 'me')`,
		},
		c.fence: {`SELECT FROM conch.leadership`, `SELECT FROM conch.schema_version`, `SELECT conch.evict_fences('s')`, `SELECT conch.fence_key('s')`},
		c.node: {
			`DELETE FROM conch.leadership`, `TRUNCATE conch.leadership`, `DELETE FROM conch.leadership_history`,
			`UPDATE conch.leadership_history SET actor = 'x'`, `ALTER TABLE conch.leadership DISABLE TRIGGER guard_epoch`,
			`SELECT conch.advance('s', 9, 'me')`, `UPDATE conch.command SET actor = 'x'`, `CREATE TABLE conch.mine ()`,
		},
	} {
		conn := pgtest.Connect(t, pg.Config{URL: c.as(t, role)})
		for _, sql := range statements {
			if _, err := conn.Exec(t.Context(), sql); pg.Code(err) != "42501" {
				t.Errorf("%s may %s: %v", role, sql, err)
			}
		}
	}
	// Whatever a later migration adds, somebody must have thought about it here.
	var left []string
	rows, err := c.db.Connect(t).Query(t.Context(), `SELECT proname::text FROM pg_proc WHERE pronamespace = 'conch'::regnamespace AND proname <> ALL ($1)
		UNION SELECT relname FROM pg_class WHERE relnamespace = 'conch'::regnamespace AND relkind IN ('r', 'v', 'p', 'm') AND relname <> ALL ($1)`,
		slices.Concat([]string{"advance", "announce", "announce_command", "guard_epoch", "guard_truncate", "lock_key", "system_id", "timeline", "fence_closely"}, // the owner's
			[]string{
				"register", "withdraw", "bid", "refused", "bury", "beat", "beat_process", "part", "evict_fences", "fence_key", "fence", "leadership", "leadership_history",
				"heartbeat", "process", "command", "schema_version", "leader_heartbeat",
			}))
	if err == nil {
		left, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil || len(left) > 0 {
		t.Errorf("deploy/grants.sql says nothing about %v, %v", left, err)
	}
}
