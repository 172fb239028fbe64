package pgops_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/internal/minttest"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
)

// brisk is a short lease: an elector soon tells that nobody leads.
const brisk = 600 * time.Millisecond

// printed finds the statement in a text for people.
var printed = regexp.MustCompile(`SELECT pg_terminate_backend\(\d+\)|ROLLBACK PREPARED '[^']*'`)

// A candidate and `conch status` name the obstacle that keeps everybody from leading, and the
// statement that ends it. The test runs that statement as it is printed.
func TestThePrintedRemedyEndsIt(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	for name, c := range map[string]struct {
		says string
		by   string // makes the obstacle
		acts bool   // by runs before the leader stops
	}{
		"the lock key":  {says: "its lock key is held by pid ", by: `SELECT pg_advisory_lock(conch.lock_key('s'))`},
		"the fence key": {says: "its fence is held by pid ", by: `SELECT pg_advisory_lock(conch.fence_key('s'))`},
		"the row":       {says: "its row is locked by pid ", by: `BEGIN; SELECT FROM conch.leadership WHERE scope = 's' FOR UPDATE`},
		"the row, by several locks": {
			says: "its row is locked by pid ",
			by:   `BEGIN; SELECT FROM conch.leadership FOR SHARE; SAVEPOINT a; SELECT FROM conch.leadership FOR UPDATE`,
		},
		"a prepared fence": {
			says: "its fence is held by prepared transaction ", acts: true,
			by: `BEGIN; SELECT conch.fence('s', 1); PREPARE TRANSACTION 'left behind'`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := pgtest.Own(t, postmaster.Config{Settings: map[string]string{"max_prepared_transactions": "2"}})
			db := minttest.Database(server)
			if err := pgmint.Up(t.Context(), pgmint.Config{URL: db.URL}, nil); err != nil {
				t.Fatal(err)
			}
			a, stop := elector(t, db.URL, "a", brisk)
			wait(t, a, fence.Act)
			stranger := db.Connect(t)
			if c.acts {
				run(t, stranger, c.by, pgx.QueryExecModeSimpleProtocol)
			}
			stop()
			if !c.acts {
				run(t, stranger, c.by, pgx.QueryExecModeSimpleProtocol)
			}
			b, _ := elector(t, db.URL, "b", brisk)
			said := unled(t, b)
			remedy := printed.FindString(said)
			if shown := status(t, observe(t, db.URL), "s").Obstacle; !strings.Contains(said, c.says) || remedy == "" || !strings.Contains(shown, c.says) || !strings.Contains(shown, remedy) {
				t.Fatalf("the process says %q, and status %q; want both to say %q and the same remedy", said, shown, c.says)
			}
			run(t, db.Connect(t), remedy)
			wait(t, b, fence.Act)
			if s, _ := b.Status("s"); s.Unled != 0 || s.Why != "" {
				t.Errorf("b leads, and its status still says that nobody does: %+v", s)
			}
		})
	}
}

// A leader that gave the scope up shows Unsaid until its farewell is heard.
func TestAFarewellThatCannotBeSaidIsShown(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	a, _ := elector(t, db.URL, "a", brisk)
	wait(t, a, fence.Act)
	stranger := db.Connect(t)
	run(t, stranger, `BEGIN`)
	run(t, stranger, `SELECT FROM conch.leadership FOR UPDATE`)
	if err := a.Drain(t.Context(), "s"); !errors.Is(err, election.ErrUntold) {
		t.Fatalf("a drain whose farewell cannot be heard: got %v, want ErrUntold", err)
	}
	shows := func(unsaid bool) {
		t.Helper()
		pgtest.Eventually(t, 20*time.Second, fmt.Sprintf("the status to show Unsaid = %t", unsaid), func() bool {
			s, _ := a.Status("s")
			return s.Unsaid == unsaid
		})
	}
	shows(true)
	run(t, stranger, `ROLLBACK`)
	shows(false)
}

// unled waits until a process tells that nobody leads, and returns why.
func unled(t *testing.T, e *election.Elector) (why string) {
	t.Helper()
	pgtest.Eventually(t, 20*time.Second, "the process to tell that nobody leads", func() bool {
		s, _ := e.Status("s")
		why = s.Why
		return s.Unled != 0
	})
	return why
}

// All candidates have another takeover mode than the leader, which lives or has crashed. The
// refusal says what to do; the test does it.
func TestTheRemedyForAnotherTakeover(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	for name, crashed := range map[string]bool{"it lives": false, "it crashed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			minter := newMint(t, db.URL)
			with := func(id string, mode mint.Takeover) (e *election.Elector, stop func()) {
				e, err := election.New(election.Config{
					Mint: newMint(t, db.URL), ID: id, Lease: brisk, Takeover: mode, Roles: []election.Role{{Scope: "s"}}, Logger: slog.New(slog.DiscardHandler),
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				over := make(chan struct{})
				go func() { defer close(over); _ = e.Run(ctx) }()
				stop = func() { cancel(); <-over }
				t.Cleanup(stop)
				return e, stop
			}
			var first *election.Elector
			var stop func()
			if crashed {
				a := candidate(t, minter, "a", unhurried, mint.Fast)
				lead(t, a, "s", brisk)
				_ = a.Close()
			} else {
				first, stop = with("a", mint.Fast)
				wait(t, first, fence.Act)
			}
			r := bid(t, candidate(t, minter, "b", unhurried, mint.Strict), mint.Bid{Scope: "s", Lease: unhurried})
			if r.Outcome != mint.Refused {
				t.Fatalf("%+v", r)
			}
			_, asked := pgops.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgops.Request{Scope: "s", Actor: "ops", Timeout: time.Millisecond}, func(string) {})
			switch said := r.Why.Error(); {
			case crashed && (!strings.Contains(said, "start one candidate that agrees") || !errors.Is(asked, pgops.ErrNobodyLeads)):
				t.Errorf("there is nobody to drain: Ask returned %v, and the refusal says %q; want ErrNobodyLeads and advice to start a candidate that agrees", asked, said)
			case !crashed && !strings.HasSuffix(said, "release the scope (conch drain) before changing it"):
				t.Errorf("there is a leader to drain, and the refusal says %q; want advice to release the scope", said)
			}
			if crashed {
				first, stop = with("a", mint.Fast)
				wait(t, first, fence.Act)
			}
			c := db.Connect(t)
			pgtest.Eventually(t, 20*time.Second, "the first to have led for longer than a lease", func() bool {
				return text(t, c, `SELECT (clock_timestamp() > acquired_at + 2 * lease_ms * interval '1 millisecond')::text FROM conch.leadership`) == "true"
			})
			if err := first.Drain(t.Context(), "s"); err != nil {
				t.Error(err)
			}
			stop() // or it would campaign again, under the old mode
			other, _ := with("c", mint.Strict)
			wait(t, other, fence.Act)
		})
	}
}

// Under the grants of least privilege a node may not end the session of a role that is only a
// member of fence. It says which grants it needs, and with them it ends the session.
func TestTheRemedyForAFenceOfAnotherRole(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	c := granted(t)
	admin := c.DB.Connect(t)
	app := c.DB.Name + "_app"
	run(t, admin, fmt.Sprintf(`CREATE ROLE %q LOGIN IN ROLE %q`, app, c.Fence))
	a, stop := elector(t, c.As(t, c.Node), "a", brisk)
	token := wait(t, a, fence.Act)
	conn := pgtest.Connect(t, pg.Config{URL: c.As(t, app)})
	run(t, conn, `BEGIN`)
	if err := pgfence.Fence(t.Context(), conn, token); err != nil {
		t.Fatal(err)
	}
	works := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), `SELECT pg_sleep(60)`) // an idle transaction would end by itself
		works <- err
	}()
	stop()
	b, _ := elector(t, c.As(t, c.Node), "b", brisk)
	unled(t, b)
	for _, role := range []string{"pg_read_all_stats", "pg_signal_backend"} {
		pgtest.Eventually(t, 20*time.Second, "it to say that it needs "+role, func() bool {
			said := text(t, admin, `SELECT coalesce((array_agg(reason ORDER BY id DESC))[1], '') FROM conch.leadership_history WHERE event = 'blocked'`)
			return strings.Contains(said, "a member of "+role+" may")
		})
		run(t, admin, fmt.Sprintf(`GRANT %s TO %q`, role, c.Node))
	}
	wait(t, b, fence.Act)
	if err := <-works; err == nil {
		t.Error("the transaction that held the fence was not ended")
	}
	if n := text(t, admin, `SELECT count(*)::text FROM conch.leadership_history WHERE event = 'evicted'`); n != "1" {
		t.Errorf("%s evictions in the history", n)
	}
}
