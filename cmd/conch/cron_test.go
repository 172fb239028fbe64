//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// crontabs are the crontabs of machines that share a database.
type crontabs struct {
	*testing.T
	db   *pgtest.DB
	conn *pgx.Conn
	file string // what the commands write to
}

func newCrontabs(t *testing.T) *crontabs {
	t.Helper()
	db := migrated(t)
	return &crontabs{t, db, db.Connect(t), filepath.Join(t.TempDir(), "ran")}
}

// call prepares a call of one machine, for slots of an hour.
func (c *crontabs) call(id, script string, flags ...string) *exec.Cmd {
	c.Helper()
	args := append([]string{"cron", "--db", c.db.URL, "--scope", "s", "--id", id, "--lease", "1s", "--slot", "1h"}, flags...)
	return prepared(c, append(args, "--", "sh", "-c", script, c.file)...)
}

// silent checks a call whose slot another machine has.
func (c *crontabs) silent(r result) {
	c.Helper()
	if r.code != 0 || r.out != "" || r.err != "" {
		c.Errorf("exit code %d, stdout %q, stderr %q; want silence", r.code, r.out, r.err)
	}
}

// passes lets an hour pass.
func (c *crontabs) passes() {
	c.Helper()
	pgtest.Exec(c, c.conn, `UPDATE conch.slots SET called_at = called_at - interval '1h'`)
}

func (c *crontabs) runs() int {
	text, _ := os.ReadFile(c.file)
	return strings.Count(string(text), "ran\n")
}

// row is what conch.slots has of the scope.
func (c *crontabs) row() (text string) {
	c.Helper()
	err := c.conn.QueryRow(c.Context(), `SELECT coalesce((SELECT concat_ws(' ', holder, coalesce(code::text, '-'), tries) FROM conch.slots WHERE scope = 's'), '')`).Scan(&text)
	if err != nil {
		c.Fatal(err)
	}
	return text
}

const ran = `echo ran >> "$0"`

// Of three crontabs that call at once one runs the command, in each slot, and the others are silent; so is one that calls late.
func TestCronOnThreeMachines(t *testing.T) {
	t.Parallel()
	c := newCrontabs(t)
	for round := range 5 {
		var all sync.WaitGroup
		for _, id := range []string{"a", "b", "c"} {
			cmd := c.call(id, ran)
			all.Go(func() { c.silent(call(t, cmd)) })
		}
		all.Wait()
		c.silent(call(t, c.call("late", ran)))
		if n := c.runs(); n != round+1 {
			t.Fatalf("after %d slots the command was run %d times", round+1, n)
		}
		c.passes()
	}
}

// A command that takes longer than its slot is skipped everywhere, and the row says by whom. If its machine dies, the next slot says so.
func TestCronWhoseCommandIsLong(t *testing.T) {
	t.Parallel()
	c := newCrontabs(t)
	long := start(t, c.call("a", `echo up; read x; exit 3`))
	long.says("up")
	c.passes()
	c.silent(call(t, c.call("b", ran)))
	if row := c.row(); row != "a - 1" || c.runs() != 0 {
		t.Errorf("the row is %q after %d other runs, want the holder", row, c.runs())
	}
	if code := long.end(); code != 3 {
		t.Errorf("exit code %d, want the command's", code)
	}
	if row := c.row(); row != "a 3 1" {
		t.Errorf("the row is %q, want the exit code", row)
	}
	dies := start(t, c.call("c", `echo up; read x`))
	dies.says("up")
	dies.Signal(syscall.SIGKILL)
	dies.Wait(longPatience)
	c.silent(call(t, c.call("b", ran)))
	c.passes()
	r := call(t, c.call("d", ran))
	if r.code != 0 || c.runs() != 1 || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, `the last command of "s" was cut off, which c began at `) {
		t.Errorf("exit code %d, %d runs, stderr %q; want one line about c", r.code, c.runs(), r.err)
	}
}

// With --retry a call that comes while another machine runs the command waits for it, and repeats what has failed, and nothing else.
func TestCronRetries(t *testing.T) {
	t.Parallel()
	c := newCrontabs(t)
	first := start(t, c.call("a", `echo up; read x; exit 4`))
	first.says("up")
	second := start(t, c.call("b", `echo up; read x; exit 0`, "--retry", "--within", "10m"))
	pgtest.Eventually(t, patience, "b waits", func() bool {
		return strings.Contains(conch(t, "status", "--db", c.db.URL, "--scope", "s", "--json").done(t), `"b"`)
	})
	third := start(t, c.call("c", ran, "--retry", "--within", "10m"))
	if code := first.end(); code != 4 {
		t.Errorf("exit code %d, want the command's", code)
	}
	winner, other := second, third
	if row := c.row(); row == "a 4 1" {
		pgtest.Eventually(t, patience, "another one has the slot", func() bool { return c.row() != "a 4 1" })
	}
	if strings.HasPrefix(c.row(), "c") {
		winner, other = third, second
	}
	if code := winner.end(); code != 0 {
		t.Errorf("exit code %d of the one that repeats it", code)
	}
	if code := other.end(); code != 0 {
		t.Errorf("exit code %d of the one that has nothing to repeat", code)
	}
	if row := c.row(); !strings.HasSuffix(row, " 0 2") {
		t.Errorf("the row is %q, want two tries", row)
	}
}

// What cannot be run or asked takes no slot.
func TestCronThatCannotRun(t *testing.T) {
	t.Parallel()
	c := newCrontabs(t)
	r := conch(t, "cron", "--db", c.db.URL, "--scope", "s", "--slot", "1h", "--", "no-such-program")
	r.refused(t, 127, "no-such-program cannot be run: executable file not found")
	proxy, url := c.db.Proxy(t)
	proxy.Refuse()
	call(t, c.call("a", ran, "--db", url, "--within", "300ms")).refused(t, 69, `the command of "s" was not run, since its slot could not be taken within 300ms: `)
	if row := c.row(); row != "" || c.runs() != 0 {
		t.Errorf("the row is %q after %d runs, want none", row, c.runs())
	}
	pgtest.Exec(t, c.conn, `BEGIN; LOCK TABLE conch.slots`)
	if r := call(t, c.call("a", ran, "--within", "10s")); r.code != 69 || !strings.Contains(r.err, "within 10s: tables of conch are locked, so this waited in vain: pid ") {
		t.Errorf("with a locked table it ends with %d and says %q", r.code, r.err)
	}
	pgtest.Exec(t, c.conn, `ROLLBACK; DROP FUNCTION conch.slot_begin; DROP TABLE conch.schedule_schema_version`)
	call(t, c.call("a", ran)).refused(t, 69, "was not run: ", "conch migrate up")
}
