package pgmint_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A migration makes the table of epochs only where it is missing, so it refuses one that is none of conch's.
func TestUpRefusesTablesThatAreNoTables(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"conch.leadership":         `CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w; CREATE FOREIGN TABLE conch.leadership (scope text) SERVER s`,
		"conch.leadership_history": `CREATE VIEW conch.leadership_history AS SELECT 1 AS id`,
	} {
		db := pgtest.Empty(t, "UTF8")
		run(t, db.Connect(t), `CREATE SCHEMA conch; `+sql)
		err := pgmint.Up(t.Context(), pgmint.Config{URL: db.URL}, nil)
		if err == nil || !strings.Contains(err.Error(), name+" is none of conch's tables") || !strings.Contains(err.Error(), "ALTER TABLE "+name+" SET SCHEMA public") {
			t.Errorf("got %v, want %s to be refused", err, name)
		}
	}
}
