package migrate

import (
	"fmt"
	"io"
	"strings"

	"github.com/conchhq/conch/internal/pg"
)

// Script writes, as plain SQL, what Up would do to a database that has the first applied
// versions. Run it with a client that stops at an error, since each migration commits.
func (t Tables) Script(w io.Writer, applied int) error {
	steps, err := load(t.Files)
	if err != nil {
		return err
	}
	for _, one := range steps[min(applied, len(steps)):] {
		before := ""
		if one.version == 1 {
			before = createSchema + ";\n" + strings.Replace(t.createRecord(), "CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1) + ";\n"
		}
		_, err := fmt.Fprintf(w, "-- %s %s\nBEGIN;\nSET LOCAL search_path = pg_catalog, pg_temp;\nSELECT pg_advisory_xact_lock(%d);\n%s\n%s\nINSERT INTO %s (version, name, checksum) VALUES (%d, '%s', '%s');\nCOMMIT;\n\n",
			t.record(), one, pg.MigrationKey, before, strings.TrimSpace(one.up), t.record(), one.version, one.name, one.checksum)
		if err != nil {
			return err
		}
	}
	return nil
}

const createSchema = "CREATE SCHEMA IF NOT EXISTS conch"
