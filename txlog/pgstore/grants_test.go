package pgstore_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/pgstore"
)

// granted makes a database with the part of deploy/grants.sql for logs. The rest needs the election's tables.
func granted(t *testing.T) (db *pgtest.DB, admin *pgx.Conn, node, observer string) {
	t.Helper()
	db = pgtest.New(t)
	admin = db.Connect(t)
	script, err := os.ReadFile(filepath.FromSlash("../../deploy/grants.sql"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(script), "\\if :log\n")
	grants, _, ok := strings.Cut(after, "\\endif")
	if !ok {
		t.Fatal("deploy/grants.sql has no part for logs")
	}
	node, observer = db.Name+"_node", db.Name+"_observer"
	for _, role := range []string{node, observer} {
		run(t, admin, fmt.Sprintf(`CREATE ROLE %s LOGIN`, role))
		run(t, admin, fmt.Sprintf(`GRANT USAGE ON SCHEMA conch TO %s`, role))
	}
	run(t, admin, `REVOKE ALL ON ALL FUNCTIONS IN SCHEMA conch FROM PUBLIC`)
	run(t, admin, fmt.Sprintf(`GRANT EXECUTE ON FUNCTION conch.fence(text, bigint, uuid) TO %s`, node))
	if _, err := admin.PgConn().Exec(t.Context(), strings.NewReplacer(`:"node"`, node, `:"observer"`, observer).Replace(grants)).ReadAll(); err != nil {
		t.Fatal(err)
	}
	return db, admin, node, observer
}

func as(t *testing.T, db *pgtest.DB, role string) pg.Config {
	t.Helper()
	u, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return pg.Config{URL: u.String()}
}

// privileges reads what a role may do with the tables and functions of logs.
func privileges(t *testing.T, admin *pgx.Conn, role string) (all []string) {
	t.Helper()
	rows, err := admin.Query(t.Context(), `
	WITH object AS (
		SELECT 'conch.' || relname AS name, relacl AS acl, '' AS col FROM pg_class WHERE relnamespace = 'conch'::regnamespace AND relname ~ '^log(_|$)'
		UNION ALL SELECT 'conch.' || relname, attacl, ' (' || attname || ')' FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid
		 WHERE relnamespace = 'conch'::regnamespace AND relname ~ '^log(_|$)'
		UNION ALL SELECT format('FUNCTION conch.%s(%s)', proname, pg_get_function_identity_arguments(oid)), proacl, '' FROM pg_proc
		 WHERE pronamespace = 'conch'::regnamespace AND proname LIKE 'log%'
	)
	SELECT a.privilege_type || o.col || ' ON ' || o.name FROM object o, aclexplode(o.acl) a JOIN pg_roles r ON r.oid = a.grantee WHERE r.rolname = $1 ORDER BY 1`, role)
	if err != nil {
		t.Fatal(err)
	}
	if all, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		t.Fatal(err)
	}
	return all
}

// S29: the grants of deploy/grants.sql are enough for a node, which can only append; an observer reads no genesis and no record.
func TestGrants(t *testing.T) {
	t.Parallel()
	db, admin, node, observer := granted(t)
	d, err := pgstore.Open(t.Context(), as(t, db, node), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	everything(t, d, admin)
	have := privileges(t, admin, node)
	for _, name := range have {
		if strings.HasPrefix(name, "DELETE") || strings.HasPrefix(name, "UPDATE") && !strings.HasPrefix(name, "UPDATE (") || strings.HasPrefix(name, "TRUNCATE") {
			t.Errorf("a node has %s", name)
		}
	}
	if len(have) != 11 {
		t.Errorf("a node has %d grants: %q", len(have), have)
	}
	looks := pgtest.Connect(t, as(t, db, observer))
	run(t, looks, `SELECT id, scope, newest, term FROM conch.log`)
	for _, secret := range []string{`SELECT genesis FROM conch.log`, `SELECT FROM conch.log_record`, `SELECT conch.log_read('x', 0, 1, 1)`} {
		if _, err := looks.Exec(t.Context(), secret); pg.Code(err) != "42501" {
			t.Errorf("an observer may %s: %v, want 42501", secret, err)
		}
	}
}

// operate does everything that a node does, with what is stored already.
func operate(t *testing.T, d *pgstore.Database, conn *pgx.Conn, all []txlog.Record) error {
	t.Helper()
	_, _, there := d.Genesis(t.Context(), genesis.ID())
	_, read := d.Records(t.Context(), genesis.ID(), 1)
	_, appended := conn.Exec(t.Context(), `SELECT conch.log_append($1, $2, 2, 1, $3, $4)`, all[0].Log[:], scope, raws(all), hashes(all))
	return errors.Join(d.Check(t.Context()), d.Create(t.Context(), genesis, scope), there, read, appended)
}

// S29: a node needs each of its grants.
func TestEveryGrantIsNeeded(t *testing.T) {
	t.Parallel()
	db, admin, node, _ := granted(t)
	d, err := pgstore.Open(t.Context(), as(t, db, node), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	everything(t, d, admin)
	all, err := d.Records(t.Context(), genesis.ID(), 1)
	if err != nil {
		t.Fatal(err)
	}
	conn := pgtest.Connect(t, as(t, db, node))
	if err := operate(t, d, conn, all); err != nil {
		t.Fatalf("with all grants: %v", err)
	}
	for _, name := range privileges(t, admin, node) {
		run(t, admin, fmt.Sprintf(`REVOKE %s FROM %s`, name, node))
		if err := operate(t, d, conn, all); !denied(err) {
			t.Errorf("without %s: %v, want 42501", name, err)
		}
		run(t, admin, fmt.Sprintf(`GRANT %s TO %s`, name, node))
	}
}

// denied reports whether one of the errors that were joined is a refusal of rights.
func denied(err error) bool {
	if all, is := err.(interface{ Unwrap() []error }); is {
		return slices.ContainsFunc(all.Unwrap(), denied)
	}
	return pg.Code(err) == "42501"
}
