package pgops_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// figurehead is a Leader that claims to lead. What it does is up to the test.
type figurehead struct {
	status []election.Status
	warm   func(ctx context.Context) error
	step   func(election.StepDown) error
}

func (f figurehead) Snapshot() []election.Status                           { return f.status }
func (f figurehead) Warm(ctx context.Context, _ string) error              { return f.warm(ctx) }
func (f figurehead) StepDown(_ context.Context, s election.StepDown) error { return f.step(s) }

// obey runs Obey for a leader with the id "a" until the test ends or stop is called.
func obey(t *testing.T, url string, leader pgops.Leader) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); pgops.Obey(ctx, pgmint.Config{URL: url}, "a", leader) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// put inserts a request, as Ask does.
func put(t *testing.T, c *pgx.Conn, verb, scope, to string, epoch int64) (id int64) {
	t.Helper()
	if err := c.QueryRow(t.Context(), `INSERT INTO conch.command (scope, epoch, verb, to_id, actor, timeout_ms)
		VALUES ($1, $2, $3, $4, 'ops', 0) RETURNING id`, scope, epoch, verb, to).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// becomes waits for the state of a request and returns its result.
func becomes(t *testing.T, c *pgx.Conn, id int64, want string) (result string) {
	t.Helper()
	pgtest.Eventually(t, 10*time.Second, "the request to be "+want, func() bool {
		var state string
		return c.QueryRow(t.Context(), `SELECT state, result FROM conch.command WHERE id = $1`, id).Scan(&state, &result) == nil && state == want
	})
	return result
}

// A Warm that does not return delays only its own transfer: other requests are carried out,
// and the process can end.
func TestAWarmThatHangs(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := db.Connect(t)
	hang, warming := make(chan struct{}), make(chan struct{}, 100)
	ended := make(chan struct{})
	f := figurehead{
		status: []election.Status{{Scope: "mine", Leading: true, Token: fence.Token{Scope: "mine", Epoch: 1}}, {Scope: "yours"}},
		warm: func(ctx context.Context) error {
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("the context of Warm has no deadline, want one")
			}
			warming <- struct{}{}
			<-hang
			close(ended)
			return nil
		},
		step: func(election.StepDown) error { return nil },
	}
	stop := obey(t, db.URL, f)
	put(t, c, "transfer", "yours", "a", 1)
	<-warming
	put(t, c, "transfer", "yours", "a", 1)
	becomes(t, c, put(t, c, "drain", "mine", "", 1), "done")
	if n := len(warming); n != 0 {
		t.Errorf("Warm was called %d times more while it ran, want none", n)
	}
	stop()
	close(hang)
	<-ended
}

// overtaken is an elector whose snapshot shows an earlier term.
type overtaken struct{ *election.Elector }

func (overtaken) Snapshot() []election.Status {
	return []election.Status{{Scope: "s", Leading: true, Token: fence.Token{Scope: "s", Epoch: 1}}}
}

// A request never ends a later term than the one it was for, not even if that one ends
// between the snapshot and the drain.
func TestARequestIsForOneTerm(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := db.Connect(t)
	if err := pgops.Advance(t.Context(), pgmint.Config{URL: db.URL}, "s", 1, "ops"); err != nil {
		t.Fatal(err)
	}
	e, _ := elector(t, db.URL, "a", 3*time.Second)
	wait(t, e, fence.Act)
	obey(t, db.URL, overtaken{e})
	if result := becomes(t, c, put(t, c, "drain", "s", "", 1), "failed"); !strings.Contains(result, "does not lead") {
		t.Errorf("got the result %q, want it to say that it does not lead", result)
	}
	if !e.Gate("s").IsOpen(fence.Act) {
		t.Error("the request ended the next term")
	}
}

// An old request is not carried out: its Ask was killed and could not withdraw it.
func TestAnOldRequestExpires(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := db.Connect(t)
	var ids []int64
	for _, id := range []int64{
		put(t, c, "drain", "mine", "", 2), put(t, c, "transfer", "mine", "b", 2), put(t, c, "transfer", "yours", "a", 1),
	} {
		run(t, c, `UPDATE conch.command SET at = at - interval '1 hour' WHERE id = $1`, id)
		ids = append(ids, id)
	}
	ids = append(ids, put(t, c, "drain", "mine", "", 1)) // for a term that is over
	obey(t, db.URL, figurehead{
		status: []election.Status{{Scope: "mine", Leading: true, Token: fence.Token{Scope: "mine", Epoch: 2}}, {Scope: "yours"}},
		warm:   func(context.Context) error { t.Error("an old transfer warmed the role"); return nil },
		step:   func(s election.StepDown) error { t.Errorf("an old request was carried out: %+v", s); return nil },
	})
	for _, id := range ids {
		if becomes(t, c, id, "expired") == "" {
			t.Error("the expired request has no result, want the reason")
		}
	}
}

// The age of a request is checked again when it is taken: the process may have slept since
// it read the request.
func TestARequestGrowsOldOnItsWay(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c, watching := db.Connect(t), db.Connect(t)
	id := put(t, c, "drain", "mine", "", 1)
	run(t, c, `BEGIN; SELECT FROM conch.command FOR UPDATE`)
	obey(t, db.URL, figurehead{
		status: []election.Status{{Scope: "mine", Leading: true, Token: fence.Token{Scope: "mine", Epoch: 1}}},
		step:   func(s election.StepDown) error { t.Errorf("an old request was carried out: %+v", s); return nil },
	})
	pgtest.Eventually(t, 10*time.Second, "the request to be read", func() bool {
		var waits bool
		return watching.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'conch commands' AND wait_event_type = 'Lock')`).Scan(&waits) == nil && waits
	})
	run(t, c, `UPDATE conch.command SET at = at - interval '1 hour'`)
	run(t, c, `COMMIT`)
	pgtest.Eventually(t, 10*time.Second, "a result", func() bool { // failed, if the server took too long
		var closed bool
		return c.QueryRow(t.Context(), `SELECT state IN ('expired', 'failed') FROM conch.command WHERE id = $1`, id).Scan(&closed) == nil && closed
	})
}
