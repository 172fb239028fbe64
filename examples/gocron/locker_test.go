package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule/pgstore"
)

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		if err := pgmint.Up(ctx, pgmint.Config{URL: conn.Config().ConnString()}, nil); err != nil {
			return err
		}
		return pgstore.Up(ctx, conn, nil)
	})
	pgtest.Main(m)
}

// machine starts a scheduler whose job is due at once, and returns what its locker answers.
func machine(t *testing.T, db *pgtest.DB, work func()) <-chan error {
	t.Helper()
	mint, err := pgmint.New(pgmint.Config{URL: db.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mint.Close() })
	slots, err := pgstore.Open(t.Context(), pgstore.Connection{URL: db.URL}, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(slots.Close)
	s, err := gocron.NewScheduler()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	each := heard{locker{mint: mint, slots: slots, slot: time.Hour, within: 5 * time.Minute}, make(chan error, 1)}
	if _, err := s.NewJob(gocron.OneTimeJob(gocron.OneTimeJobStartImmediately()), gocron.NewTask(work), gocron.WithName("report"),
		gocron.WithDistributedJobLocker(each)); err != nil {
		t.Fatal(err)
	}
	s.Start()
	return each.said
}

// heard is a locker that says what it has answered.
type heard struct {
	locker
	said chan error
}

func (h heard) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	k, err := h.locker.Lock(ctx, key)
	h.said <- err
	return k, err
}

// Of three schedulers one runs each time of a job. A call of a later clock finds the slot taken, also when nobody leads any more.
func TestEachTimeOnOneMachine(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	conn := db.Connect(t)
	var runs atomic.Int32
	work := func() { runs.Add(1) }
	for round := range int32(3) {
		var all []<-chan error
		for range 3 {
			all = append(all, machine(t, db, work))
		}
		for _, ended := range all {
			if err := <-ended; err != nil && !errors.Is(err, errTaken) && !errors.Is(err, pgmint.ErrHeld) {
				t.Error(err)
			}
		}
		pgtest.Eventually(t, time.Minute, "the end of the job is noted", func() (noted bool) {
			err := conn.QueryRow(t.Context(), `SELECT count(*) > 0 FROM conch.slots WHERE ended_at IS NOT NULL`).Scan(&noted)
			return err == nil && noted
		})
		if err := <-machine(t, db, work); !errors.Is(err, errTaken) {
			t.Errorf("a late call: %v", err)
		}
		if n := runs.Load(); n != round+1 {
			t.Fatalf("after %d slots the job was run %d times", round+1, n)
		}
		pgtest.Exec(t, conn, `UPDATE conch.slots SET called_at = called_at - interval '1h'`)
	}
}
