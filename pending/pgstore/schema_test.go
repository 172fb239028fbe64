package pgstore_test

import (
	"io/fs"
	"testing"

	"github.com/conchhq/conch/pending/pgstore"
)

// The version that this program knows is that of its newest file.
func TestTheNewestMigrationIsKnown(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(pgstore.Migrations().Files, "*.up.sql")
	if err != nil || len(files) != pgstore.SchemaMax {
		t.Errorf("%d migrations, %v; SchemaMax is %d", len(files), err, pgstore.SchemaMax)
	}
}
