//go:build unix

package transactions

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/deploy"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

var kinds = []node.Kind{Kind()}

// The tables are removed only if nothing leads and no intent is queued or open. A refusal keeps all.
func TestSchemaDownRefuses(t *testing.T) { //nolint:tparallel // one thing after the other
	t.Parallel()
	ctx := t.Context()
	c := cast{pgtest.Cast{DB: pgtest.New(t)}}
	cfg := pgmint.Config{URL: c.URL}
	db, err := pgstore.Open(ctx, c.Config(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store := db.Store(grantedChain, "test")
	refused := func(what string, want any) {
		t.Helper()
		if err := node.SchemaDown(ctx, cfg, kinds, nil); !errors.As(err, want) {
			t.Errorf("%s: got error %v, want a refusal", what, err)
		}
		s, err := node.SchemaStatus(ctx, cfg, kinds)
		if err != nil || s.Current != s.Latest || len(s.Wings) != 2 || s.Wings[1].Current != s.Wings[1].Latest {
			t.Errorf("%s: after the refusal got schema %+v, %v, want the latest", what, s, err)
		}
	}
	in, err := store.Accept(ctx, pending.Intent{Account: grantedAccount})
	if err != nil {
		t.Fatal(err)
	}
	var open *migrate.OpenError
	refused("an intent waits", &open)
	t.Run("a scope is led", func(t *testing.T) {
		token, _ := nodetest.Lead(t, c.URL, "a", "pending:test", time.Minute)
		var held *pgmint.HeldError
		refused("a scope is led", &held)
		attempt := chain.Signed{Account: grantedAccount, Hash: "hash", Bytes: []byte{1}}
		if err := store.Write(ctx, token, pending.Batch{Account: grantedAccount, New: []pending.Slot{{Intent: &in.ID, Attempts: []chain.Signed{attempt}}}}); err != nil {
			t.Fatal(err)
		}
	})
	refused("a transaction is not final", &open)
	if open.Open != [2]int{1, 0} {
		t.Errorf("got %v, want 1 open and none waiting", open.Open)
	}
	if _, err := c.Connect(t).Exec(ctx, `UPDATE conch.pending_transactions SET final = true; UPDATE conch.intents SET fate = 'done'`); err != nil {
		t.Fatal(err)
	}
	var said []string
	say := func(line string) { said = append(said, line) }
	pgtest.Eventually(t, nodetest.Patience, "the schema goes", func() bool { return node.SchemaDown(ctx, cfg, kinds, say) == nil })
	if err := db.Check(ctx); err == nil || !strings.Contains(err.Error(), "conch migrate up") {
		t.Errorf("without tables: got error %v, want one that says conch migrate up", err)
	}
	if err := node.SchemaUp(ctx, cfg, kinds, say); err != nil {
		t.Fatal(err)
	}
	if err := db.Check(ctx); err != nil {
		t.Error(err)
	}
	if text := strings.Join(said, "; "); !strings.Contains(text, "pending: took back 0001") || !strings.Contains(text, "election: applied 0001") {
		t.Errorf("got %q, want pending taken back and election applied", text)
	}
}

// If the removal fails at the election's tables, those of pending stay too: with finished intents
// their idempotency keys would be gone.
func TestSchemaDownIsWhole(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), pgtest.New(t)
	cfg := pgmint.Config{URL: db.URL}
	admin := db.Connect(t)
	pgtest.Exec(t, admin, `DROP TRIGGER announce ON conch.leadership`)
	pgtest.Exec(t, admin, `ALTER FUNCTION conch.settle(text[], uuid[]) RENAME TO other`)
	if err := node.SchemaDown(ctx, cfg, kinds, nil); err == nil || !strings.Contains(err.Error(), "settle") {
		t.Fatalf("got error %v, want one about settle", err)
	}
	pgtest.Exec(t, admin, `SELECT FROM conch.intents`)
	pgtest.Exec(t, admin, `ALTER FUNCTION conch.other(text[], uuid[]) RENAME TO settle`)
	if err := node.SchemaDown(ctx, cfg, kinds, nil); err != nil {
		t.Error(err)
	}
}

func TestNoIndexIsSortedByALocale(t *testing.T) {
	t.Parallel()
	nodetest.NoLocaleSorts(t)
}

func TestThePrintedSchemaIsTheSchema(t *testing.T) {
	t.Parallel()
	nodetest.ThePrintedSchemaIsTheSchema(t, kinds)
}

// S29: the binary prints the grants of the file, for the given roles.
func TestThePrintedGrantsAreTheGrants(t *testing.T) {
	t.Parallel()
	text, err := deploy.Roles{Node: "n", Fence: "f", Observer: "o o"}.Grants()
	file, fault := os.ReadFile(filepath.FromSlash("../../../../../deploy/grants.sql"))
	if err != nil || fault != nil || text != "\\set node 'n'\n\\set fence 'f'\n\\set observer 'o o'\n"+string(file) {
		t.Errorf("got %.200q, %v, want the file (%v) after the roles", text, err, fault)
	}
}
