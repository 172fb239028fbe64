package contracts

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/sequencer/pgstore"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

var kinds = []node.Kind{Kind()}

// The tables go with those of the election, and only if nothing leads and nothing is open. A refusal keeps all.
func TestSchemaDownRefuses(t *testing.T) { //nolint:tparallel // one thing after the other
	t.Parallel()
	db := pgtest.New(t)
	cfg := pgmint.Config{URL: db.URL}
	tables, err := pgstore.Open(t.Context(), db.Config(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer tables.Close()
	t.Run("a node works", func(t *testing.T) {
		token, _ := lead(t, db.URL, "one", time.Minute)
		s, err := tables.Begin(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		if err := sequencertest.Each(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		var held *pgmint.HeldError
		if err := node.SchemaDown(t.Context(), cfg, kinds, nil); !errors.As(err, &held) {
			t.Errorf("while it leads: %v, want a HeldError", err)
		}
	})
	var open *pgstore.OpenError
	pgtest.Eventually(t, nodetest.Patience, "nobody leads", func() bool { return errors.As(node.SchemaDown(t.Context(), cfg, kinds, nil), &open) })
	if open.Intents != 1 || open.Dispatches != 1 {
		t.Errorf("%+v, want one of each", open)
	}
	if err := tables.Check(t.Context()); err != nil {
		t.Errorf("after the refusals: %v", err)
	}
	run(t, db.Connect(t), `UPDATE conch.sequencer_intents SET ended = true`)
	run(t, db.Connect(t), `DELETE FROM conch.sequencer_dispatches`)
	if err := node.SchemaDown(t.Context(), cfg, kinds, nil); err != nil {
		t.Fatal(err)
	}
	if err := tables.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "conch migrate up") {
		t.Errorf("without tables: %v, want an error that says conch migrate up", err)
	}
	if err := node.SchemaUp(t.Context(), cfg, kinds, nil); err != nil {
		t.Fatal(err)
	}
	if err := tables.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// An index sorted by a locale misses rows after a system upgrade that changes the locale: a key would name two intents.
func TestNoIndexIsSortedByALocale(t *testing.T) {
	t.Parallel()
	var sorted []string
	err := pgtest.New(t).Connect(t).QueryRow(t.Context(), `SELECT array_agg(indexrelid::regclass::text) FROM pg_index
		JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'conch'::regnamespace
		AND EXISTS (SELECT FROM unnest(indcollation::oid[]) AS by WHERE by <> 0 AND by <> '"C"'::regcollation)`).Scan(&sorted)
	if err != nil || len(sorted) > 0 {
		t.Errorf("got indexes %v sorted by a locale, %v, want none", sorted, err)
	}
}

// The printed script is what a database lacks: after it, migrate up has nothing to do.
func TestThePrintedSchemaIsTheSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t, "UTF8")
	var script bytes.Buffer
	if err := node.SchemaScript(&script, node.Schema{}, kinds); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Connect(t).PgConn().Exec(t.Context(), script.String()).ReadAll(); err != nil {
		t.Fatal(err)
	}
	said := ""
	if err := node.SchemaUp(t.Context(), pgmint.Config{URL: db.URL}, kinds, func(line string) { said += line }); err != nil || said != "" {
		t.Errorf("migrate up after the script: got %q, %v, want nothing done", said, err)
	}
}
