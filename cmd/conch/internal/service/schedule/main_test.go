package schedule

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule/pgstore"
)

// TestMain makes the test binary a keeper, too: the commands of jobs run under one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "keeper" {
		os.Exit(cli.Main(os.Args[1:], cli.System(), cli.Conch(cli.Build{}, nil)))
	}
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		if err := pgmint.Tables.Up(ctx, conn, nil); err != nil {
			return err
		}
		return pgstore.Up(ctx, conn, nil)
	})
	pgtest.Main(m)
}

const patience = nodetest.Patience

var kinds = []node.Kind{Kind()}

// load reads a configuration.
func load(t testing.TB, text string) (config.Config, error) {
	t.Helper()
	return configtest.Load(t, text, config.Source{Sections: configtest.Beside(Kind().Section)}, nil)
}

// scan returns what one row has.
func scan[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) (v T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := conn.QueryRow(ctx, sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// kill has as many jobs of a queue die.
func kill(t testing.TB, conn *pgx.Conn, queue string, jobs int) {
	t.Helper()
	pgtest.Exec(t, conn, `
		WITH k AS (SELECT array_agg(t.job) AS jobs, array_agg(t.attempt) AS attempts, array_agg('dead'::text) AS outcomes, array_agg('no'::text) AS errors,
		                  array_agg(NULL::json) AS results, array_agg(0::float8) AS pauses FROM conch.job_take(ARRAY[$1], 'worker/1', 1, $2::int) t)
		SELECT conch.job_end(k.jobs, k.attempts, k.outcomes, k.errors, k.results, k.pauses) FROM k`, queue, jobs)
}

func open(t testing.TB, url string) *pgstore.Store {
	t.Helper()
	s, err := pgstore.Open(t.Context(), pgstore.Connection{URL: url}, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestNoIndexIsSortedByALocale(t *testing.T) {
	t.Parallel()
	nodetest.NoLocaleSorts(t)
}

func TestThePrintedSchemaIsTheSchema(t *testing.T) {
	t.Parallel()
	nodetest.ThePrintedSchemaIsTheSchema(t, kinds)
}
