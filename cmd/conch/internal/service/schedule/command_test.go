package schedule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

// runs runs one of the commands, and returns what it prints.
func runs(t *testing.T, asJSON bool, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	all := Commands(&cli.Shell{World: cli.World{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}, JSON: asJSON})
	cmd := all[slices.IndexFunc(all, func(c *cobra.Command) bool { return c.Name() == args[0] })]
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args[1:])
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// What is wrong about a command is said before any node is asked.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says string
		args []string
	}{
		{"needs one of list, show, next, run-now, pause, resume", []string{"crons"}},
		{"needs one of list, show, add, cancel, retry, release", []string{"jobs"}},
		{"needs one of list, retry, discard", []string{"dead"}},
		{"takes one name", []string{"crons", "show"}},
		{"takes one name", []string{"crons", "pause", "a", "b"}},
		{"a span has --from and --to", []string{"crons", "run-now", "a", "--from", "2026-01-01T00:00:00Z"}},
		{`--to "then" is not a time`, []string{"crons", "run-now", "a", "--from", "2026-01-01T00:00:00Z", "--to", "then"}},
		{"takes one ID", []string{"jobs", "cancel"}},
		{"needs --queue and --handler", []string{"jobs", "add", "--queue", "q"}},
		{"--args is no JSON", []string{"jobs", "add", "--queue", "q", "--handler", "h", "--args", "{"}},
		{"--in -5m0s is in the past", []string{"jobs", "add", "--queue", "q", "--handler", "h", "--in", "-5m"}},
		{"--at and --in", []string{"jobs", "add", "--queue", "q", "--handler", "h", "--at", "2026-01-01T00:00:00Z", "--in", "1h"}},
		{"is the ID of no job", []string{"dead", "retry", "x"}},
		{"say which jobs", []string{"dead", "retry"}},
		{"say which jobs", []string{"dead", "discard", "1", "--all"}},
	} {
		if _, err := runs(t, false, c.args...); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want %q", c.args, err, c.says)
		}
	}
}

// F13: each command at a node, for people and as JSON.
func TestCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := httptest.NewServer(w.handler(t))
	t.Cleanup(server.Close)
	w.run(`UPDATE conch.cron_revisions SET by = E'a\x1b[2Jb' WHERE cron = 2`)
	for _, c := range []struct {
		args  string
		says  []string
		never string
	}{
		{"crons list", []string{"NAME", "report", "0 9 * * *", "Europe/Berlin"}, ""},
		{"crons list --after report", []string{"tick"}, "report"},
		{"crons show report", []string{"calls    true", "missed   none", "PASSED OVER FROM", "late"}, ""},
		{"crons show tick", []string{`by a\u001b[2Jb`}, "\x1b"},
		{"crons next report --count 2", []string{"09:00:00 CE"}, ""},
		{"crons run-now tick", []string{"enqueued", "hand"}, ""},
		{"crons run-now tick --from 2026-01-01T00:00:00Z --to 2026-01-01T00:01:00Z", []string{"enqueued   9 "}, ""},
		{"crons pause tick", []string{"next     paused"}, ""},
		{"crons next tick", []string{"never: the cron is paused"}, ""},
		{"crons resume tick", []string{"next     2"}, "paused"},
		{"jobs list --state later", []string{"ID", "4    later"}, "done"},
		{"jobs list --before 4", []string{"3    done"}, "later"},
		{"jobs show 1", []string{"state    ", "dead since", "why       no", "ATTEMPT", "dead      worker/1"}, ""},
		{"jobs add --queue q --handler work --in 1h --key k", []string{"10\n"}, ""},
		{"jobs cancel 10", []string{"cancelled"}, ""},
		{"jobs retry 4", []string{"ready"}, ""},
		{"jobs release", []string{"nothing is held"}, ""},
		{"dead list", []string{"1    dead", "no"}, ""},
		{"dead retry 1", []string{"retried 1 job (operation "}, ""},
		{"dead retry 1 2", []string{"retried 0 of 2 jobs: no other one is dead (operation "}, ""},
		{"dead discard --all", []string{"discarded 0 jobs"}, ""},
	} {
		args := append(strings.Fields(c.args), "--node", server.URL)
		out, err := runs(t, false, args...)
		for _, want := range c.says {
			if err != nil || !strings.Contains(strings.Join(strings.Fields(out), " "), strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s prints %q, %v; want %q", c.args, out, err, want)
			}
		}
		if c.never != "" && strings.Contains(out, c.never) {
			t.Errorf("%s prints %q", c.args, out)
		}
	}
	for _, args := range []string{"crons list", "crons show tick", "crons next tick", "crons run-now report", "jobs list", "jobs show 3", "jobs add --queue q --handler work", "jobs release", "dead list", "dead retry --queue q"} {
		out, err := runs(t, true, append(strings.Fields(args), "--node", server.URL)...)
		for line := range strings.Lines(out) {
			if err != nil || !json.Valid([]byte(line)) {
				t.Errorf("%s prints %q, %v", args, line, err)
			}
		}
	}
	if _, err := runs(t, false, "crons", "show", "nobody", "--node", server.URL); err == nil || !strings.Contains(err.Error(), "no cron is called") {
		t.Errorf("got %v", err)
	}
}

// F13: 10,000 dead jobs are retried by one command, each once, and the same operation again retries none.
func TestManyDeadJobs(t *testing.T) {
	t.Parallel()
	const jobs = 10_000
	w := newWorld(t)
	w.run(`SELECT conch.job_add('many', 'work') FROM generate_series(1, $1::int)`, jobs)
	kill(t, w.conn, "many", jobs)
	server := httptest.NewServer(w.handler(t))
	t.Cleanup(server.Close)
	out, err := runs(t, false, "dead", "retry", "--queue", "many", "--node", server.URL)
	if err != nil || !strings.Contains(out, "retried 10000 jobs (operation ") {
		t.Fatalf("it prints %q, %v", out, err)
	}
	_, id, _ := strings.Cut(out, "(operation ")
	id, _, _ = strings.Cut(id, ")")
	kill(t, w.conn, "many", 100)
	if out, err = runs(t, false, "dead", "retry", "--resume", id, "--node", server.URL); err != nil || !strings.Contains(out, "retried 10000 jobs") {
		t.Errorf("it prints %q, %v", out, err)
	}
	if ready, dead := scan[int](t, w.conn, `SELECT count(*) FROM conch.job_ready WHERE queue = 'many'`), scan[int](t, w.conn, `SELECT count(*) FROM conch.job_dead`); ready != jobs-100 || dead != 101 {
		t.Errorf("%d are ready and %d dead", ready, dead)
	}
}

// A command whose answer is lost says how to carry its operation on; one that the database does not know is not begun again.
func TestAnOperationIsCarriedOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	api, lost := w.handler(t), true
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if lost && r.Method == http.MethodPost {
			lost = false
			api.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		api.ServeHTTP(out, r)
	}))
	t.Cleanup(server.Close)
	_, err := runs(t, false, "dead", "retry", "--all", "--node", server.URL)
	_, id, is := strings.Cut(fmt.Sprint(err), "carry it on with --resume ")
	if !is {
		t.Fatalf("it says %v", err)
	}
	if out, err := runs(t, false, "dead", "retry", "--resume", id, "--node", server.URL); err != nil || !strings.Contains(out, "retried 1 job ") {
		t.Errorf("it prints %q, %v", out, err)
	}
	if _, err := runs(t, false, "dead", "retry", "--resume", begun, "--node", server.URL); err == nil || !strings.Contains(err.Error(), "it was restored since") {
		t.Errorf("one that is not known: %v", err)
	}
}
