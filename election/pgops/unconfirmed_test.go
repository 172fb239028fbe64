package pgops_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/conchhq/conch/election/internal/minttest"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// With synchronous replication, a commit whose wait is cancelled succeeds with a warning. A heartbeat,
// a mint or an advance with that warning has failed, even if the database is set to send no warnings. All
// three are tried here, since the tests of the mint know no operators.
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
	run(t, minttest.Database(srv).Connect(t), `ALTER DATABASE postgres SET client_min_messages = error`)
	m := mintWith(t, pgmint.Config{URL: url, Locks: locks})
	a := candidate(t, m, "a", 20*time.Second, mint.Strict)
	token := lead(t, a, "s", 20*time.Second)
	c, cancelWait := unconfirmed(t, srv)
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
	// An epoch that is raised by hand may be forgotten by a failover, too.
	go func() { answer <- pgops.Advance(t.Context(), pgmint.Config{URL: url}, "raised", 500, "ops") }()
	cancelWait()
	if err := <-answer; err == nil || !strings.Contains(pgmint.Sentence(err), "above 500") {
		t.Errorf("an epoch raised on one server only: got %v, want an error that says how to repeat it", err)
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

// silent connects as the standby nobody, which confirms that it has all until now, and nothing later.
func silent(t *testing.T, server *postmaster.Server) {
	t.Helper()
	cfg, err := pgconn.ParseConfig(server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.RuntimeParams["replication"], cfg.RuntimeParams["application_name"] = "true", "nobody"
	conn, err := pgconn.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	found, err := conn.Exec(t.Context(), `IDENTIFY_SYSTEM`).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var high, low uint32
	if _, err := fmt.Sscanf(string(found[0].Rows[0][2]), "%X/%X", &high, &low); err != nil {
		t.Fatal(err)
	}
	status := []byte{'r'} // what was written, flushed and applied; a time; and no wish for a reply
	for range 3 {
		status = binary.BigEndian.AppendUint64(status, uint64(high)<<32|uint64(low))
	}
	conn.Frontend().Send(&pgproto3.Query{String: "START_REPLICATION PHYSICAL " + string(found[0].Rows[0][2])})
	conn.Frontend().Send(&pgproto3.CopyData{Data: append(status, make([]byte, 9)...)})
	if err := conn.Frontend().Flush(); err != nil {
		t.Fatal(err)
	}
}

// unconfirmed makes the commits of a server wait for a standby that never confirms one. Its function
// cancelWait cancels the wait of the next commit.
func unconfirmed(t *testing.T, server *postmaster.Server) (c *pgx.Conn, cancelWait func()) {
	t.Helper()
	c = minttest.Database(server).Connect(t)
	run(t, c, `SET synchronous_commit = local`)
	run(t, c, `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`)
	run(t, c, `SELECT pg_reload_conf()`)
	pgtest.Eventually(t, 20*time.Second, "the reload", func() bool {
		var s string
		return c.QueryRow(t.Context(), `SHOW synchronous_standby_names`).Scan(&s) == nil && s == "nobody"
	})
	waiting := func() bool { // reports whether commits wait, and cancels their waits
		var n int
		err := c.QueryRow(t.Context(), `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`).Scan(&n)
		return err == nil && n > 0
	}
	// SHOW has the setting before the server's checkpointer applies it.
	silent(t, server)
	d := minttest.Database(server).Connect(t)
	pgtest.Eventually(t, 20*time.Second, "commits to wait", func() bool {
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, _ = d.Exec(t.Context(), `SELECT pg_logical_emit_message(true, 'conch', 'any write')`)
		}()
		for {
			select {
			case <-over:
				return false
			default:
				if waiting() {
					<-over
					return true
				}
			}
		}
	})
	return c, func() {
		t.Helper()
		pgtest.Eventually(t, 20*time.Second, "the commit to wait for its standby", waiting)
	}
}
