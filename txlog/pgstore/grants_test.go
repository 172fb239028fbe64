package pgstore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/pgstore"
)

// granted makes a database with the part of deploy/grants.sql for logs. The rest needs the election's tables.
func granted(t *testing.T) (c pgtest.Cast, admin *pgx.Conn) {
	t.Helper()
	c = pgtest.Cast{DB: pgtest.New(t)}
	c.Node, c.Fence, c.Observer = c.Name+"_node", c.Name+"_fence", c.Name+"_observer"
	admin = c.Connect(t)
	script, err := os.ReadFile(filepath.FromSlash("../../deploy/grants.sql"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(script), "\\if :log\n")
	grants, _, ok := strings.Cut(after, "\\endif")
	if !ok {
		t.Fatal("deploy/grants.sql has no part for logs")
	}
	for _, role := range []string{c.Node, c.Observer} {
		run(t, admin, fmt.Sprintf(`CREATE ROLE %s LOGIN`, role))
		run(t, admin, fmt.Sprintf(`GRANT USAGE ON SCHEMA conch TO %s`, role))
	}
	run(t, admin, `REVOKE ALL ON ALL FUNCTIONS IN SCHEMA conch FROM PUBLIC`)
	run(t, admin, fmt.Sprintf(`GRANT EXECUTE ON FUNCTION conch.fence(text, bigint, uuid) TO %s`, c.Node))
	if _, err := admin.PgConn().Exec(t.Context(), strings.NewReplacer(`:"node"`, c.Node, `:"observer"`, c.Observer).Replace(grants)).ReadAll(); err != nil {
		t.Fatal(err)
	}
	return c, admin
}

// privileges reads what a node may do with the tables and functions of logs.
func privileges(t *testing.T, c pgtest.Cast, admin *pgx.Conn) (all []string) {
	t.Helper()
	for _, name := range c.Privileges(t, admin, "^log(_|$)") {
		if strings.HasPrefix(name, "node: ") {
			all = append(all, name)
		}
	}
	return all
}

// S29: the grants of deploy/grants.sql are enough for a node, which can only append; an observer reads no genesis and no record.
func TestGrants(t *testing.T) {
	t.Parallel()
	c, admin := granted(t)
	d, err := pgstore.Open(t.Context(), pg.Config{URL: c.As(t, c.Node)}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	everything(t, d, admin)
	have := privileges(t, c, admin)
	for _, name := range have {
		what := strings.TrimPrefix(name, "node: ")
		if strings.HasPrefix(what, "DELETE") || strings.HasPrefix(what, "UPDATE") && !strings.HasPrefix(what, "UPDATE (") || strings.HasPrefix(what, "TRUNCATE") {
			t.Errorf("a node has %s", name)
		}
	}
	if len(have) != 11 {
		t.Errorf("a node has %d grants: %q", len(have), have)
	}
	looks := pgtest.Connect(t, pg.Config{URL: c.As(t, c.Observer)})
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
	c, admin := granted(t)
	d, err := pgstore.Open(t.Context(), pg.Config{URL: c.As(t, c.Node)}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	everything(t, d, admin)
	all, err := d.Records(t.Context(), genesis.ID(), 1)
	if err != nil {
		t.Fatal(err)
	}
	conn := pgtest.Connect(t, pg.Config{URL: c.As(t, c.Node)})
	if err := operate(t, d, conn, all); err != nil {
		t.Fatalf("with all grants: %v", err)
	}
	for _, name := range privileges(t, c, admin) {
		if !c.Without(t, admin, name, func() error { return operate(t, d, conn, all) }) {
			t.Errorf("without %s it works", name)
		}
	}
}
