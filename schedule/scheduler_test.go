package schedule_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/internal/core"
	"github.com/conchhq/conch/schedule/internal/tables"
)

// store is a store in memory.
type store struct {
	mu     sync.Mutex
	tables *tables.Tables
	fails  error // what a write returns
}

func (s *store) Read(_ context.Context, r schedule.Read) (schedule.Loaded, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables.Read(r, time.Now().UTC()), nil
}

func (s *store) Write(_ context.Context, _ fence.Token, w schedule.Write) (schedule.Written, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		return schedule.Written{}, s.fails
	}
	return s.tables.Write(w, time.Now().UTC()), nil
}

func (s *store) Declare(_ context.Context, f schedule.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Started = time.Now().UTC()
	s.tables.Declare(f, time.Now().UTC())
	return nil
}

// begin declares a cron and leads, in a bubble. The clock is the bubble's.
func begin(t *testing.T, tell func(schedule.Event)) (*schedule.Scheduler, *store) {
	t.Helper()
	began, s := time.Now(), &store{tables: tables.New()}
	one, err := schedule.New(schedule.Config{
		Version: 1, Crons: []schedule.Cron{{Name: "tick", Schedule: "* * * * *", Job: "work"}}, Tell: tell,
		Clock: func() fence.Instant { return fence.Instant(time.Since(began)) },
	}, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return one, s
}

// F11, F12: who leads runs each time of a cron, and tells of it.
func TestLead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		s, db := begin(t, func(e schedule.Event) {
			if r, is := e.(schedule.Ran); is && r.Name == "tick" {
				ran++
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute+time.Second)
		defer cancel()
		if err := s.Lead(ctx, fence.Standalone("scheduler", "me")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ended with %v", err)
		}
		if rows, gaps := db.tables.Rows(1); len(rows) != 10 || len(gaps) != 0 || ran != 10 {
			t.Errorf("%d rows, and %d were told; gaps %v", len(rows), ran, gaps)
		}
	})
}

// A change that is said is seen at once. What is said where nobody leads is no fault.
func TestChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := begin(t, nil)
		s.Changed(1)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Lead(ctx, fence.Standalone("scheduler", "me")) }()
		synctest.Wait()
		db.mu.Lock()
		id := db.tables.Revise(core.Change{Definition: core.Definition{Name: "more", Schedule: "@every 1s", Timezone: "UTC", Late: time.Minute, Overlap: core.Allow}}, time.Now().UTC())
		db.mu.Unlock()
		s.Changed(id)
		synctest.Wait()
		if c := db.tables.Cron(id); c.Adopted != 1 {
			t.Error("the new cron was not seen at once")
		}
		db.mu.Lock()
		id = db.tables.Revise(core.Change{Definition: core.Definition{Name: "other", Schedule: "@every 1s", Timezone: "UTC"}}, time.Now().UTC())
		db.mu.Unlock()
		s.Changed()
		synctest.Wait()
		if c := db.tables.Cron(id); c.Adopted != 1 {
			t.Error("the other cron was not seen at once, though nobody has said which one it is")
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	})
}

// A leader whose token is over ends, and says so.
func TestAStaleToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := begin(t, nil)
		db.fails = fence.ErrStale
		if err := s.Lead(t.Context(), fence.Standalone("scheduler", "me")); !errors.Is(err, fence.ErrStale) {
			t.Errorf("it ended with %v", err)
		}
	})
}

// A store that fails is asked again, and somebody is told why nothing runs.
func TestAStoreThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []schedule.Trouble
		s, db := begin(t, func(e schedule.Event) {
			if e, is := e.(schedule.Trouble); is {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, e)
			}
		})
		away := errors.New("the database is away")
		db.fails = away
		time.AfterFunc(5*time.Minute, func() {
			db.mu.Lock()
			defer db.mu.Unlock()
			db.fails = nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute+time.Second)
		defer cancel()
		_ = s.Lead(ctx, fence.Standalone("scheduler", "me"))
		if rows, _ := db.tables.Rows(1); len(rows) < 4 {
			t.Errorf("%d rows", len(rows))
		}
		if want := []schedule.Trouble{{Scope: "scheduler", What: "write runs", Why: away}, {Scope: "scheduler", What: "write runs"}}; !slices.Equal(told, want) {
			t.Errorf("it tells %v, want its beginning and its end, once each: %v", told, want)
		}
	})
}
