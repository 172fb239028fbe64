//go:build unix

package main_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// pooled are the commands that use the database. Each must work through a pooler or say why not.
var pooled = []string{
	"status", "history", "watch", "migrate up", "migrate status", "migrate advance --scope s --epoch 9",
	"drain --scope s", "transfer --scope s --to b",
}

// S1: behind a pooler that shares backends, every command names it and gives a remedy.
func TestPgBouncerThatSharesIsNamed(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{pgtest.TransactionMode, pgtest.StatementMode} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			db := migrated(t)
			address := db.PgBouncer(t, mode).URL(db.Name)
			says := []string{"PgBouncer in " + mode + " mode", "connect to PostgreSQL directly", "session mode"}
			for _, command := range append(pooled, "run --scope s -- true") {
				args := append([]string{"--db", address}, strings.Fields(command)...)
				conch(t, args...).refused(t, 1, says...)
			}
			found := examined(t, address)
			if f := judged(found, "pooler"); f.Status != "fail" || !strings.Contains(f.Detail, says[0]) || f.Remedy == "" {
				t.Errorf("the finding is %+v, want fail with the mode and a remedy", f)
			}
			for _, f := range found {
				if strings.Contains(f.Detail, "could not be looked at") {
					t.Errorf("the finding is %+v, want every check made", f)
				}
			}
		})
	}
}

// A node behind such a pooler goes on, follows, says loudly why, and leads nothing.
func TestANodeBehindPgBouncerThatShares(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := migrated(t)
	n := startDaemon(t, "n1", db.PgBouncer(t, pgtest.TransactionMode).URL(db.Name), "[[roles]]\nname = \"payments\"\nbuiltin = \"log\"\n")
	const loud = "DATABASE UNREACHABLE: this process is a FOLLOWER, its view of the leader is STALE, and it cannot be promoted"
	n.says(loud)
	if why := n.value(loud, "error"); !strings.Contains(why, "PgBouncer in transaction mode") || !strings.Contains(why, "connect to PostgreSQL directly") {
		t.Errorf("the log says %q, want the pooler's mode and a remedy", why)
	}
	if code := n.stop(syscall.SIGTERM); code != 0 || n.count("leadership acquired") > 0 {
		t.Errorf("exit code %d, want 0, and no leadership", code)
	}
}

// S1: through a pooler in session mode everything works, and the log warns.
func TestPgBouncerInSessionModeServes(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := migrated(t)
	address := db.PgBouncer(t, pgtest.SessionMode).URL(db.Name)
	r := conch(t, "--db", address, "run", "--scope", "s", "--id", "a", "--", "true")
	r.done(t)
	if strings.Count(r.err, "connection pooler in session mode") != 1 || !strings.Contains(r.err, "WARN") {
		t.Errorf("want one warning of the pooler in the log, which is:\n%s", r.err)
	}
	n := startDaemon(t, "n1", address, "[[roles]]\nname = \"t\"\nbuiltin = \"log\"\n")
	n.says("leadership acquired", "scope", "t")
	if !strings.Contains(n.text(), "connection pooler in session mode") {
		t.Errorf("want a warning of the pooler in the node's log, which is:\n%s", n.text())
	}
	if code := n.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	for command, part := range map[string]string{"status": "released", "history": "acquired", "migrate status": "schema"} {
		text := conch(t, append([]string{"--db", address}, strings.Fields(command)...)...).done(t)
		if !strings.Contains(text, part) {
			t.Errorf("%s prints %q, want its usual output", command, text)
		}
	}
	if f := judged(examined(t, address), "pooler"); f.Status != "warn" || !strings.Contains(f.Detail, "PgBouncer in session mode") {
		t.Errorf("the finding is %+v, want warn with the mode", f)
	}
}
