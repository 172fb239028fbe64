package riverq_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule"
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
func TestAJobBecomesRivers(t *testing.T) {
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
	taken, err := s.Take(t.Context(), fence.Token{Scope: "worker/1", Epoch: 1}, []string{"river"}, schedule.Take{Most: 2})
	if err != nil || len(taken.Jobs) != 1 {
		t.Fatalf("took %+v, %v", taken, err)
	}
	job, hands := taken.Jobs[0], riverq.Handler(pool, client, &river.InsertOpts{Queue: "mail"})
	try := func(change func(*schedule.Job)) (rivers int, err error) {
		task := &schedule.Task{Job: job}
		change(&task.Job)
		_, err = hands(t.Context(), task)
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE kind = 'welcome' AND queue = 'mail' AND args->>'to' = 'a@example.com'`).Scan(&rivers); err != nil {
			t.Fatal(err)
		}
		return rivers, err
	}
	over := func(err error) bool {
		refused, is := errors.AsType[*pgconn.PgError](err)
		return is && refused.Code == "CN021"
	}
	if n, err := try(func(j *schedule.Job) { j.Attempt = 2 }); !over(err) || n != 0 {
		t.Errorf("another attempt: %v, %d jobs of River", err, n)
	}
	if n, err := try(func(j *schedule.Job) { j.Handler = []byte(`{"http": "https://a.example"}`) }); err == nil || n != 0 {
		t.Errorf("a job without a name: %v, %d jobs of River", err, n)
	}
	if n, err := try(func(*schedule.Job) {}); err != nil || n != 1 {
		t.Errorf("%v, %d jobs of River", err, n)
	}
	if n, err := try(func(*schedule.Job) {}); !over(err) || n != 1 {
		t.Errorf("a second time: %v, %d jobs of River", err, n)
	}
}
