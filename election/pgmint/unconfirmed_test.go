package pgmint_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election/internal/minttest"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// With synchronous replication, a commit whose wait is cancelled succeeds with a warning. A heartbeat
// or a mint with that warning has failed, even if the database is set to send no warnings.
func TestCommitWithWarningIsAFailure(t *testing.T) {
	t.Parallel()
	for _, locks := range []pgmint.Locks{pgmint.SessionLocks, pgmint.ProcessLocks} {
		t.Run(string(locks), func(t *testing.T) {
			t.Parallel()
			commitWithWarning(t, locks)
		})
	}
}

func commitWithWarning(t *testing.T, locks pgmint.Locks) {
	t.Helper()
	srv := pgtest.Own(t, postmaster.Config{})
	url := srv.URL("postgres")
	if err := pgmint.Up(t.Context(), pgmint.Config{URL: url}, nil); err != nil {
		t.Fatal(err)
	}
	run(t, database(srv).Connect(t), `ALTER DATABASE postgres SET client_min_messages = error`)
	m := mintWith(t, pgmint.Config{URL: url, Locks: locks})
	a := candidate(t, m, "a", 20*time.Second, mint.Strict)
	token := lead(t, a, "s", 20*time.Second)
	c, cancelWait := minttest.Unconfirmed(t, srv)
	answer := make(chan error, 1)
	go func() {
		_, err := a.Beat(t.Context(), []mint.Pulse{{Token: token}})
		answer <- err
	}()
	cancelWait()
	if err := <-answer; err == nil || errors.Is(err, mint.ErrSessionLost) {
		t.Errorf("a heartbeat committed on one server only: got %v, want an error that is not ErrSessionLost", err)
	}
	go func() {
		_, err := a.Try(t.Context(), []mint.Bid{{Scope: "other", Lease: time.Second}})
		answer <- err
	}()
	cancelWait()
	if err := <-answer; err == nil {
		t.Error("a mint committed on one server only: got no error, want one")
	}
	// An unconfirmed mint over the session's own term: the term in the row is unknown.
	go func() {
		_, err := a.Try(t.Context(), []mint.Bid{{Scope: "s", Lease: 20 * time.Second}})
		answer <- err
	}()
	cancelWait()
	if err := <-answer; err == nil {
		t.Error("a mint committed on one server only: got no error, want one")
	}
	standbys := func(names string) {
		t.Helper()
		run(t, c, `ALTER SYSTEM SET synchronous_standby_names = '`+names+`'`)
		run(t, c, `SELECT pg_reload_conf()`)
		pgtest.Eventually(t, 10*time.Second, "the reload", func() bool {
			var s string
			return c.QueryRow(t.Context(), `SHOW synchronous_standby_names`).Scan(&s) == nil && s == names
		})
	}
	// The standby that is connected is not the one that is asked for.
	standbys("absent")
	pgtest.Eventually(t, 10*time.Second, "the reload of the standby's process", func() bool {
		var state string
		return c.QueryRow(t.Context(), `SELECT sync_state FROM pg_stat_replication`).Scan(&state) == nil && state == "async"
	})
	for range 3 {
		if r, err := a.Try(t.Context(), []mint.Bid{{Scope: "other", Lease: time.Second}}); err == nil || !strings.Contains(err.Error(), "no standby is connected") {
			t.Errorf("a bid that no standby could confirm: got %+v, %v, want it not to be made", r, err)
		}
	}
	standbys("")
	var epoch int64
	if err := c.QueryRow(t.Context(), `SELECT max(epoch) FROM conch.leadership WHERE scope = 'other'`).Scan(&epoch); err != nil || epoch != 1 {
		t.Errorf("these tries used epochs up: the newest is %d, want that of the mint above, 1: %v", epoch, err)
	}
	if alive, err := a.Beat(t.Context(), []mint.Pulse{{Token: token}}); err != nil || alive[0] != mint.Over {
		t.Errorf("the heartbeat of a term that may be replaced: got %v, %v, want Over", alive, err)
	}
	// The session knows which locks it holds, and wins again with a new epoch.
	if r := bid(t, a, mint.Bid{Scope: "other", Lease: time.Second}); r.Outcome != mint.Won || r.Token.Epoch != 2 || r.Hold == 0 {
		t.Errorf("the bid after the unconfirmed one: got %+v, want Won with epoch 2 and a hold", r)
	}
}

// An advanced epoch is flushed to disk, even if the database is set to synchronous_commit = off.
func TestAdvanceIsFlushed(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := db.Connect(t)
	run(t, c, `ALTER DATABASE `+db.Name+` SET synchronous_commit = off`)
	run(t, c, `CREATE TABLE public.said (commits text)`)
	run(t, c, `CREATE FUNCTION public.say() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN INSERT INTO public.said VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$`)
	run(t, c, `CREATE TRIGGER say AFTER INSERT OR UPDATE ON conch.leadership FOR EACH ROW EXECUTE FUNCTION public.say()`)
	for epoch := range int64(2) {
		run(t, db.Connect(t), `SELECT conch.advance('s', $1, 'ops')`, 500+epoch)
	}
	var said []string
	if err := c.QueryRow(t.Context(), `SELECT array_agg(commits) FROM public.said`).Scan(&said); err != nil || len(said) != 2 || said[0] != "on" || said[1] != "on" {
		t.Errorf("epochs are raised with synchronous_commit %q, %v, want on twice", said, err)
	}
}
