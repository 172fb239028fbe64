package transactions

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending/pgstore"
)

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		if err := migrate.Up(ctx, conn, migrate.Set{Files: pgmint.Migrations()}, nil); err != nil {
			return err
		}
		return pgstore.Up(ctx, conn, nil)
	})
	pgtest.Main(m) // also fails on leaked goroutines
}
