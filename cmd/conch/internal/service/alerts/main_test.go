package alerts

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/alerts/pgstore"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		if err := pgmint.Tables.Up(ctx, conn, nil); err != nil {
			return err
		}
		return pgstore.Up(ctx, conn, nil)
	})
	pgtest.Main(m)
}
