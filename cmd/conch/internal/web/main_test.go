package web_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		return migrate.Up(ctx, conn, migrate.Set{Files: pgmint.Migrations()}, nil)
	})
	pgtest.Main(m) // also looks for goroutines left running
}
