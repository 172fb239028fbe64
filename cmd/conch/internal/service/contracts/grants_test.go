//go:build unix

package contracts

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
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/sequencer/pgstore"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

// granted returns a database with the roles of deploy/grants.sql.
func granted(t *testing.T) (db *pgtest.DB, roles map[string]string) {
	t.Helper()
	db = pgtest.New(t)
	roles = map[string]string{"node": db.Name + "_node", "fence": db.Name + "_fence", "observer": db.Name + "_observer"}
	bin, err := postmaster.Binaries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	psql := filepath.Join(bin, "psql")
	if _, err := os.Stat(psql); err != nil {
		if psql, err = exec.LookPath("psql"); err != nil {
			t.Skip("deploy/grants.sql needs psql, which is not installed")
		}
	}
	args := []string{"-X", "-q", db.URL, "-f", filepath.FromSlash("../../../../../deploy/grants.sql")}
	for name, role := range roles {
		args = append(args, "-v", name+"="+role)
	}
	if out, err := proctest.Output(t, exec.Command(psql, args...), time.Minute); err != nil || len(out) > 0 {
		t.Fatalf("deploy/grants.sql: %v\n%s", err, out)
	}
	for _, role := range roles {
		run(t, db.Connect(t), fmt.Sprintf(`ALTER ROLE %q LOGIN`, role))
	}
	return db, roles
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

// operate does everything that a node does, under a role.
func operate(ctx context.Context, cfg pg.Config, token fence.Token) error {
	tables, err := pgstore.Open(ctx, cfg, 1)
	if err != nil {
		return err
	}
	defer tables.Close()
	if err := tables.Check(ctx); err != nil {
		return err
	}
	s, err := tables.Begin(ctx, token)
	if err != nil {
		return err
	}
	return sequencertest.Each(ctx, s)
}

// privileges reads what the roles may do with the tables and functions of the sequencer.
func privileges(t *testing.T, admin *pgx.Conn, roles map[string]string) (all []string) {
	t.Helper()
	rows, err := admin.Query(t.Context(), `
	WITH object AS (
		SELECT 'conch.' || relname AS name, relacl AS acl, '' AS col FROM pg_class WHERE relnamespace = 'conch'::regnamespace AND relname LIKE 'sequencer%'
		UNION ALL SELECT 'conch.' || relname, attacl, ' (' || attname || ')' FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid
		 WHERE relnamespace = 'conch'::regnamespace AND relname LIKE 'sequencer%'
		UNION ALL SELECT format('FUNCTION conch.%s(%s)', proname, pg_get_function_identity_arguments(oid)), proacl, '' FROM pg_proc
		 WHERE pronamespace = 'conch'::regnamespace AND proname LIKE 'sequencer%'
	)
	SELECT r.rolname || ': ' || a.privilege_type || o.col || ' ON ' || o.name
	  FROM object o, aclexplode(o.acl) a JOIN pg_roles r ON r.oid = a.grantee WHERE r.rolname = ANY ($1) ORDER BY 1`,
		[]string{roles["node"], roles["fence"], roles["observer"]})
	if err != nil {
		t.Fatal(err)
	}
	if all, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		t.Fatal(err)
	}
	return all
}

// S29: the grants of deploy/grants.sql are enough for a node, and it needs each of them.
func TestGrants(t *testing.T) {
	t.Parallel()
	db, roles := granted(t)
	admin := db.Connect(t)
	token, _ := lead(t, db.URL, "one", time.Minute)
	node := as(t, db, roles["node"])
	if err := operate(t.Context(), node, token); err != nil {
		t.Fatalf("with all grants: %v", err)
	}
	tried := 0
	for _, name := range privileges(t, admin, roles) {
		who, what, _ := strings.Cut(name, ": ")
		if who != roles["node"] {
			continue
		}
		tried++
		run(t, admin, fmt.Sprintf(`REVOKE %s FROM %q`, what, who))
		if err := operate(t.Context(), node, token); pg.Code(err) != "42501" {
			t.Errorf("without %s: %v, want 42501", name, err)
		}
		run(t, admin, fmt.Sprintf(`GRANT %s TO %q`, what, who))
	}
	if tried < 40 {
		t.Errorf("a node has %d grants", tried)
	}
}

// S29: an observer sees what is under way, and nothing that members keep among themselves; a program that fences its own
// transactions sees nothing. No role deletes what stays for ever.
func TestGrantsAreNarrow(t *testing.T) {
	t.Parallel()
	db, roles := granted(t)
	for _, name := range privileges(t, db.Connect(t), roles) {
		who, what, _ := strings.Cut(name, ": ")
		secret := slices.ContainsFunc([]string{"payload", "key", "why", "given_up", "contents", "states", "salt", "data", "needs", "signature", "endorsements"}, func(word string) bool {
			return strings.Contains(what, "("+word+")") || strings.HasSuffix(what, "_"+word)
		})
		for _, table := range []string{"intents", "grants", "attempts", "nodes", "contracts"} {
			if strings.HasPrefix(what, "DELETE") && strings.HasSuffix(what, "_"+table) {
				t.Errorf("%s is granted", name)
			}
		}
		if who == roles["fence"] || who == roles["observer"] && (secret || !strings.HasPrefix(what, "SELECT")) {
			t.Errorf("%s is granted", name)
		}
	}
	observer := pgtest.Connect(t, as(t, db, roles["observer"]))
	for _, table := range []string{"attempts", "states", "early"} {
		if _, err := observer.Exec(t.Context(), `SELECT FROM conch.sequencer_`+table); pg.Code(err) != "42501" {
			t.Errorf("an observer reads %s: %v, want 42501", table, err)
		}
	}
	run(t, observer, `SELECT sequence, ended FROM conch.sequencer_intents`)
	if _, err := observer.Exec(t.Context(), `SELECT payload FROM conch.sequencer_intents`); pg.Code(err) != "42501" {
		t.Errorf("an observer reads payloads: %v, want 42501", err)
	}
}
