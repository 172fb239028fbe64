//go:build unix

package transactions

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/deploy"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

var kinds = []node.Kind{Kind()}

// The tables go only when nobody leads, no intent waits and nothing is on its way;
// a refusal leaves all of them.
func TestSchemaDownRefuses(t *testing.T) { //nolint:tparallel // one thing after the other
	t.Parallel()
	ctx := t.Context()
	c := cast{db: pgtest.New(t)}
	cfg := pgmint.Config{URL: c.db.URL}
	db, err := pgstore.Open(ctx, c.db.Config(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store := db.Store(grantedChain, "test")
	refused := func(what string, want any) {
		t.Helper()
		if err := node.SchemaDown(ctx, cfg, kinds, nil); !errors.As(err, want) {
			t.Errorf("%s: %v", what, err)
		}
		s, err := node.SchemaStatus(ctx, cfg, kinds)
		if err != nil || s.Current != s.Latest || len(s.Wings) != 2 || s.Wings[1].Current != s.Wings[1].Latest {
			t.Errorf("%s: a refusal has taken something away: %+v, %v", what, s, err)
		}
	}
	in, err := store.Accept(ctx, pending.Intent{Account: grantedAccount})
	if err != nil {
		t.Fatal(err)
	}
	var open *pgstore.OpenError
	refused("an intent waits", &open)
	t.Run("somebody leads", func(t *testing.T) {
		token := c.stage(t, "pending:test")
		var held *pgmint.HeldError
		refused("somebody leads", &held)
		attempt := pending.Attempt{Signed: chain.Signed{Account: grantedAccount, Hash: "hash", Bytes: []byte{1}}}
		if err := store.Write(ctx, token, pending.Batch{Account: grantedAccount, New: []pending.Slot{{Intent: &in.ID, Attempts: []pending.Attempt{attempt}}}}); err != nil {
			t.Fatal(err)
		}
	})
	refused("one is not final", &open)
	if open.Open != 1 || open.Waiting != 0 {
		t.Errorf("%+v", open)
	}
	if _, err := c.db.Connect(t).Exec(ctx, `UPDATE conch.pending_transactions SET final = true; UPDATE conch.intents SET fate = 'done'`); err != nil {
		t.Fatal(err)
	}
	var said []string
	say := func(line string) { said = append(said, line) }
	pgtest.Eventually(t, nodetest.Patience, "the schema goes", func() bool { return node.SchemaDown(ctx, cfg, kinds, say) == nil })
	if err := db.Check(ctx); err == nil || !strings.Contains(err.Error(), "conch migrate up") {
		t.Errorf("without tables: %v", err)
	}
	if err := node.SchemaUp(ctx, cfg, kinds, say); err != nil {
		t.Fatal(err)
	}
	if err := db.Check(ctx); err != nil {
		t.Error(err)
	}
	if text := strings.Join(said, "; "); !strings.Contains(text, "pending: took back 0001") || !strings.Contains(text, "election: applied 0001") {
		t.Error(text)
	}
}

// A way down that breaks off in the election's tables, or that nothing breaks, leaves no
// half: with the tables of finished intents their keys would be gone.
func TestSchemaDownIsWhole(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), pgtest.New(t)
	cfg := pgmint.Config{URL: db.URL}
	admin := db.Connect(t)
	run(t, admin, `DROP TRIGGER announce ON conch.leadership`)
	run(t, admin, `ALTER FUNCTION conch.settle(text[], uuid[]) RENAME TO other`)
	if err := node.SchemaDown(ctx, cfg, kinds, nil); err == nil || !strings.Contains(err.Error(), "settle") {
		t.Fatalf("error %v", err)
	}
	run(t, admin, `SELECT FROM conch.intents`)
	run(t, admin, `ALTER FUNCTION conch.other(text[], uuid[]) RENAME TO settle`)
	if err := node.SchemaDown(ctx, cfg, kinds, nil); err != nil {
		t.Error(err)
	}
}

// An index that is sorted by a locale misses rows once an upgrade of the system has
// changed how that sorts: an epoch would begin again, or a key be paid twice.
func TestNoIndexIsSortedByALocale(t *testing.T) {
	t.Parallel()
	var sorted []string
	err := pgtest.New(t).Connect(t).QueryRow(t.Context(), `SELECT array_agg(indexrelid::regclass::text) FROM pg_index
		JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'conch'::regnamespace
		AND EXISTS (SELECT FROM unnest(indcollation::oid[]) AS by WHERE by <> 0 AND by <> '"C"'::regcollation)`).Scan(&sorted)
	if err != nil || len(sorted) > 0 {
		t.Errorf("sorted by a locale: %v, %v", sorted, err)
	}
}

// What is printed for a database is what it lacks: run by hand it is the same as migrate up,
// which then finds nothing to do.
func TestThePrintedSchemaIsTheSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t, "UTF8")
	cfg := pgmint.Config{URL: db.URL}
	var script bytes.Buffer
	if err := node.SchemaScript(&script, node.Schema{}, kinds); err != nil {
		t.Fatal(err)
	}
	conn := db.Connect(t)
	if _, err := conn.PgConn().Exec(t.Context(), script.String()).ReadAll(); err != nil {
		t.Fatal(err)
	}
	done, err := node.SchemaStatus(t.Context(), cfg, kinds)
	if err != nil || done.Current != done.Latest || done.Wings[1].Current != done.Wings[1].Latest {
		t.Fatalf("by hand: %+v, %v", done, err)
	}
	said := ""
	if err := node.SchemaUp(t.Context(), cfg, kinds, func(line string) { said += line + "\n" }); err != nil || said != "" {
		t.Errorf("migrate up after it: %q, %v", said, err)
	}
	script.Reset()
	if err := node.SchemaScript(&script, done, kinds); err != nil || script.Len() > 0 {
		t.Errorf("for a database that lacks nothing: %q, %v", script.String(), err)
	}
}

// S29: the grants that the binary prints are those of the file, for the roles that are named.
func TestThePrintedGrantsAreTheGrants(t *testing.T) {
	t.Parallel()
	text, err := deploy.Roles{Node: "n", Fence: "f", Observer: "o o"}.Grants()
	file, fault := os.ReadFile(filepath.FromSlash("../../../../../deploy/grants.sql"))
	if err != nil || fault != nil || text != "\\set node 'n'\n\\set fence 'f'\n\\set observer 'o o'\n"+string(file) {
		t.Errorf("%v, %v, %.200q", err, fault, text)
	}
}
