package riverq_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule/pgstore"
	"github.com/conchhq/conch/schedule/riverq"
)

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		if err := pgstore.Up(ctx, conn, nil); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, `CREATE FUNCTION conch.fence(scope text, epoch bigint, term uuid) RETURNS void LANGUAGE sql AS ''`) // every token is good
		return err
	})
	pgtest.Main(m)
}

// Each attempt's job is inserted into River once; an attempt that is over, or whose insertion fails, changes nothing.
func TestForward(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	pool, err := pgxpool.New(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil); err != nil {
		t.Fatal(err)
	}
	client, err := river.NewClient(driver, &river.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := pgstore.Open(t.Context(), pgstore.Connection{URL: db.URL}, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	conn := db.Connect(t)
	pgtest.Exec(t, conn, `SELECT conch.job_add('river', 'welcome', '{"to": "a@example.com"}')`)
	jobs, err := s.Take(t.Context(), fence.Token{Scope: "worker/1", Epoch: 1}, []string{"river"}, 2)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("took %v, %v", jobs, err)
	}
	rivers := func() (n int) {
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE kind = 'welcome' AND args->>'to' = 'a@example.com'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	stale := jobs[0]
	stale.Attempt = 2
	if err := riverq.Forward(t.Context(), pool, client, stale, nil); !errors.Is(err, pgstore.ErrOver) || rivers() != 0 {
		t.Errorf("another attempt: %v, %d jobs of River", err, rivers())
	}
	wrong := jobs[0]
	wrong.Handler = []byte(`{"http": "https://a.example"}`)
	if err := riverq.Forward(t.Context(), pool, client, wrong, nil); err == nil || rivers() != 0 {
		t.Errorf("a job without a name: %v, %d jobs of River", err, rivers())
	}
	if err := riverq.Forward(t.Context(), pool, client, jobs[0], &river.InsertOpts{Queue: "mail"}); err != nil || rivers() != 1 {
		t.Errorf("%v, %d jobs of River", err, rivers())
	}
	if err := riverq.Forward(t.Context(), pool, client, jobs[0], nil); !errors.Is(err, pgstore.ErrOver) || rivers() != 1 {
		t.Errorf("a second time: %v, %d jobs of River", err, rivers())
	}
}
