package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// F13: a node with a worker does the jobs of its crons: commands under a keeper, which get their arguments and say what came of it, and posts
// that are signed.
func TestANodeDoesItsJobs(t *testing.T) {
	t.Parallel()
	base := pgtest.New(t)
	conn := base.Connect(t)
	signed := make(chan string, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case signed <- r.Header.Get("Webhook-Signature"):
		default:
		}
	}))
	t.Cleanup(receiver.Close)
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("k", 24)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const cron = "[[crons]]\nname = %q\nschedule = \"* * * * * *\"\nretries = 0\n%s\n"
	text := crons(base.URL, "[election]\nlease = \"2s\"\n[schedule]\nposts = 1\n"+
		fmt.Sprintf(cron, "echo", `command = ["sh", "-c", "printf '{\"got\": %s, \"cron\": \"%s\", \"scope\": \"%s\"}' \"$(cat)\" $CONCH_JOB_CRON $CONCH_SCOPE"]`+"\nargs = '[7]'")+
		fmt.Sprintf(cron, "bad", `command = ["sh", "-c", "echo it is broken >&2; exit 65"]`)+
		fmt.Sprintf(cron, "post", "http = \""+receiver.URL+"/run\"")+
		fmt.Sprintf("[[workers]]\nconcurrency = 5\nhosts = [%q]\nkey_file = %q\n", strings.TrimPrefix(receiver.URL, "http://"), key)+
		`handlers = { hello = { command = ["sh", "-c", "printf '{\"hello\": %s}' \"$(cat)\""] } }`)
	cfg, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	log := &nodetest.Log{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- node.Run(ctx, node.Options{Config: cfg, Kinds: kinds, Log: slog.New(slog.NewTextHandler(log, nil))})
	}()
	log.Says(t, "working at jobs", "scope=worker/default/1")
	const attempts = `SELECT count(*) FROM conch.job_attempts a JOIN conch.jobs j ON j.id = a.job JOIN conch.crons c ON c.id = j.cron WHERE c.name = $1 AND a.outcome = $2 AND `
	pgtest.Eventually(t, patience, "a command has said what came of it", func() bool {
		return scan[int](t, conn, attempts+`a.result::jsonb = '{"got": [7], "cron": "echo", "scope": "scheduler"}'`, "echo", "done") > 0
	})
	pgtest.Eventually(t, patience, "a command that is of no use is dead", func() bool {
		return scan[int](t, conn, attempts+`a.error LIKE '%exit code 65: it is broken'`, "bad", "dead") > 0
	})
	pgtest.Within(t, patience, "an endpoint is called", func() {
		if s := <-signed; !strings.HasPrefix(s, "v1,") {
			t.Errorf("it is signed with %q", s)
		}
	})
	job := scan[int](t, conn, `SELECT conch.job_add('default', 'hello', '"Ada"')`)
	pgtest.Eventually(t, patience, "a program's job runs the command that the file has for its name", func() bool {
		return scan[int](t, conn, `SELECT count(*) FROM conch.job_attempts WHERE job = $1 AND outcome = 'done' AND result::jsonb = '{"hello": "Ada"}'`, job) > 0
	})
	cancel()
	nodetest.Ends(t, ended)
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.job_taken`); n != 0 {
		t.Errorf("%d jobs are left with a worker that has ended", n)
	}
}
