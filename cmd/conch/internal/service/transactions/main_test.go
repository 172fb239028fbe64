package transactions

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending/pgstore"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(livingEnv); text != "" { // this process is no test
		if err := livingNode(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		if err := pgmint.Tables.Up(ctx, conn, nil); err != nil {
			return err
		}
		return pgstore.Tables.Up(ctx, conn, nil)
	})
	pgtest.Main(m) // also fails on leaked goroutines
}
