package nodetest

import (
	"bytes"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// NoLocaleSorts checks that no index of the schema is sorted by a locale. Such a one misses rows after a system upgrade that
// changes the locale: an epoch would begin again, or a key name two things.
func NoLocaleSorts(t *testing.T) {
	t.Helper()
	var sorted []string
	err := pgtest.New(t).Connect(t).QueryRow(t.Context(), `SELECT array_agg(indexrelid::regclass::text) FROM pg_index
		JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'conch'::regnamespace
		AND EXISTS (SELECT FROM unnest(indcollation::oid[]) AS by WHERE by <> 0 AND by <> '"C"'::regcollation)`).Scan(&sorted)
	if err != nil || len(sorted) > 0 {
		t.Errorf("got indexes %v sorted by a locale, %v, want none", sorted, err)
	}
}

// ThePrintedSchemaIsTheSchema checks that the printed script is what a database lacks: after it, migrate up has nothing to do,
// and nothing more is printed.
func ThePrintedSchemaIsTheSchema(t *testing.T, kinds []node.Kind) {
	t.Helper()
	db := pgtest.Empty(t, "UTF8")
	cfg := pgmint.Config{URL: db.URL}
	var script bytes.Buffer
	if err := node.SchemaScript(&script, node.Schema{}, kinds); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Connect(t).PgConn().Exec(t.Context(), script.String()).ReadAll(); err != nil {
		t.Fatal(err)
	}
	done, err := node.SchemaStatus(t.Context(), cfg, kinds)
	if err != nil || done.Current != done.Latest || done.Wings[1].Current != done.Wings[1].Latest {
		t.Fatalf("after the script: got schema %+v, %v, want the latest", done, err)
	}
	said := ""
	if err := node.SchemaUp(t.Context(), cfg, kinds, func(line string) { said += line + "\n" }); err != nil || said != "" {
		t.Errorf("migrate up after the script: got %q, %v, want nothing done", said, err)
	}
	script.Reset()
	if err := node.SchemaScript(&script, done, kinds); err != nil || script.Len() > 0 {
		t.Errorf("for a database that lacks nothing: got script %q, %v, want none", script.String(), err)
	}
}
