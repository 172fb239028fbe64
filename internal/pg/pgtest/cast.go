package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/proctest"
)

// Cast is a database with the three roles of deploy/grants.sql. Roles belong to the whole server, so each database has its own.
type Cast struct {
	*DB
	Node, Fence, Observer string
}

// Granted gives a database its roles, which have the grants and may log in.
func Granted(t testing.TB, db *DB) Cast {
	t.Helper()
	c := Cast{DB: db, Node: db.Name + "_Node", Fence: db.Name + "_fence", Observer: db.Name + "_observer"}
	c.Script(t)
	admin := db.Connect(t)
	for _, role := range []string{c.Node, c.Fence, c.Observer} {
		Exec(t, admin, fmt.Sprintf(`ALTER ROLE %q LOGIN`, role))
	}
	return c
}

// Script runs deploy/grants.sql with psql, as users do.
func (c Cast) Script(t testing.TB) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Psql(t), "-X", "-q", c.URL, "-v", "node="+c.Node, "-v", "fence="+c.Fence, "-v", "observer="+c.Observer, "-f", grantsFile(t))
	if out, err := proctest.Output(t, cmd, patience); err != nil || len(out) > 0 {
		t.Fatalf("deploy/grants.sql: %v\n%s", err, out)
	}
}

// grantsFile finds deploy/grants.sql from the folder of the package that is tested.
func grantsFile(t testing.TB) string {
	t.Helper()
	for dir := "."; ; dir = filepath.Join("..", dir) {
		file := filepath.Join(dir, "deploy", "grants.sql")
		if _, err := os.Stat(file); err == nil {
			return file
		}
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			t.Fatal("deploy/grants.sql is not there")
		}
	}
}

// Psql returns the path of psql, which is usually installed with the server. Without it the test is skipped.
func Psql(t testing.TB) string {
	t.Helper()
	bin, err := postmaster.Binaries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "psql")); err == nil {
		return filepath.Join(bin, "psql")
	}
	found, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("psql is neither beside the server's programs nor in the PATH")
	}
	return found
}

// As returns the URL of the database for a role.
func (c Cast) As(t testing.TB, role string) string {
	t.Helper()
	u, err := url.Parse(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// Privileges reads what the roles may do with the tables and functions whose names match a regular expression, in order. Each is
// written as "node: SELECT (column) ON conch.table".
func (c Cast) Privileges(t testing.TB, admin *pgx.Conn, names string) []string {
	t.Helper()
	rows, err := admin.Query(t.Context(), `
	WITH object AS (
		SELECT 'conch.' || relname AS name, relacl AS acl, '' AS col FROM pg_class WHERE relnamespace = 'conch'::regnamespace AND relname ~ $1
		UNION ALL SELECT 'conch.' || relname, attacl, ' (' || attname || ')' FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid
		 WHERE relnamespace = 'conch'::regnamespace AND relname ~ $1
		UNION ALL SELECT format('function conch.%s(%s)', proname, pg_get_function_identity_arguments(oid)), proacl, '' FROM pg_proc
		 WHERE pronamespace = 'conch'::regnamespace AND proname ~ $1
	)
	SELECT CASE r.rolname WHEN $2 THEN 'node' WHEN $3 THEN 'fence' ELSE 'observer' END || ': ' || a.privilege_type || o.col || ' ON ' || o.name
	  FROM object o, aclexplode(o.acl) a JOIN pg_roles r ON r.oid = a.grantee WHERE r.rolname = ANY (ARRAY[$2, $3, $4]) ORDER BY 1`,
		names, c.Node, c.Fence, c.Observer)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Without revokes one privilege, as Privileges writes it, calls use, and grants it again. It reports whether use failed for lack
// of it.
func (c Cast) Without(t testing.TB, admin *pgx.Conn, privilege string, use func() error) bool {
	t.Helper()
	who, what, _ := strings.Cut(privilege, ": ")
	role := map[string]string{"node": c.Node, "fence": c.Fence, "observer": c.Observer}[who]
	Exec(t, admin, fmt.Sprintf(`REVOKE %s FROM %q`, what, role))
	err := use()
	Exec(t, admin, fmt.Sprintf(`GRANT %s TO %q`, what, role))
	return Denied(err)
}

// NeedsEach fails the test unless use works for the node with all grants, and fails without each of those on tables and functions whose names
// match a regular expression. There have to be so many at least. A sequence of an identity column needs none.
func (c Cast) NeedsEach(t testing.TB, names string, least int, use func() error) {
	t.Helper()
	admin := c.Connect(t)
	if err := use(); err != nil {
		t.Fatalf("with all grants: %v", err)
	}
	tried := 0
	for _, name := range c.Privileges(t, admin, names) {
		if !strings.HasPrefix(name, "node: ") || strings.HasSuffix(name, "_seq") {
			continue
		}
		tried++
		if !c.Without(t, admin, name, use) {
			t.Errorf("without %s it works", name)
		}
	}
	if tried < least {
		t.Errorf("a node has %d grants", tried)
	}
}

// Denied reports whether an error, or one of those that it joins, is a refusal of rights.
func Denied(err error) bool {
	if all, is := err.(interface{ Unwrap() []error }); is {
		return slices.ContainsFunc(all.Unwrap(), Denied)
	}
	return pg.Code(err) == "42501"
}

// Exec carries a statement out, and fails the test if that fails.
func Exec(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
