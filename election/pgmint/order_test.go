package pgmint_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// figurehead says of itself that it leads, and what it is asked to do is the test's.
type figurehead struct {
	status []election.Status
	warm   func(ctx context.Context) error
	step   func(election.StepDown) error
}

func (f figurehead) Snapshot() []election.Status                           { return f.status }
func (f figurehead) Warm(ctx context.Context, _ string) error              { return f.warm(ctx) }
func (f figurehead) StepDown(_ context.Context, s election.StepDown) error { return f.step(s) }

// put writes an order down, as Ask does.
func put(t *testing.T, c *pgx.Conn, verb, scope, to string, epoch int64) (id int64) {
	t.Helper()
	if err := c.QueryRow(t.Context(), `INSERT INTO conch.command (scope, epoch, verb, to_id, actor, timeout_ms)
		VALUES ($1, $2, $3, $4, 'ops', 0) RETURNING id`, scope, epoch, verb, to).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// becomes waits for the state of an order and returns its result.
func becomes(t *testing.T, c *pgx.Conn, id int64, want string) (result string) {
	t.Helper()
	pgtest.Eventually(t, 10*time.Second, "the order to be "+want, func() bool {
		var state string
		return c.QueryRow(t.Context(), `SELECT state, result FROM conch.command WHERE id = $1`, id).Scan(&state, &result) == nil && state == want
	})
	return result
}

// A role that does not get ready keeps only itself: other orders are carried out, and
// the process can end.
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
				t.Error("it may take for ever")
			}
			warming <- struct{}{}
			<-hang
			close(ended)
			return nil
		},
		step: func(election.StepDown) error { return nil },
	}
	ctx, cancel := context.WithCancel(t.Context())
	obeyed := make(chan struct{})
	go func() { defer close(obeyed); pgmint.Obey(ctx, pgmint.Config{URL: db.URL}, "a", f) }()
	put(t, c, "transfer", "yours", "a", 1)
	<-warming
	put(t, c, "transfer", "yours", "a", 1)
	becomes(t, c, put(t, c, "drain", "mine", "", 1), "done")
	if n := len(warming); n != 0 {
		t.Errorf("it was begun %d times more while it was under way", n)
	}
	cancel()
	<-obeyed
	close(hang)
	<-ended
}
