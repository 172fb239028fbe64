package contracts

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/sequencer/pgstore"
)

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		if err := pgmint.Tables.Up(ctx, conn, nil); err != nil {
			return err
		}
		return pgstore.Tables.Up(ctx, conn, nil)
	})
	pgtest.Main(m)
}

const (
	scope    = "sequencer:test"
	patience = 30 * time.Second
)
