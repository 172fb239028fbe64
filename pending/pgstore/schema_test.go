package pgstore_test

import (
	"io/fs"
	"testing"

	"github.com/conchhq/conch/pending/pgstore"
)

// SchemaMax is the version of the newest migration.
func TestTheNewestMigrationIsKnown(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(pgstore.Migrations().Files, "*.up.sql")
	if err != nil || len(files) != pgstore.SchemaMax {
		t.Errorf("%d migrations, error %v; SchemaMax is %d, want the same", len(files), err, pgstore.SchemaMax)
	}
}
