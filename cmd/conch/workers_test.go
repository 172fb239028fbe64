//go:build linux

package main_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

func example(parts ...string) string {
	path, _ := filepath.Abs(filepath.Join(append([]string{"..", "..", "examples"}, parts...)...))
	return path
}

// python returns an interpreter with a Postgres driver. With Python but no driver, the test is
// reported as missing.
func python(t *testing.T) string {
	t.Helper()
	var tried []string
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		for _, driver := range []string{"psycopg", "psycopg2"} {
			if _, err := proctest.Output(t, exec.Command(path, "-c", "import "+driver), patience); err == nil {
				return path
			}
		}
		tried = append(tried, path)
	}
	if len(tried) == 0 {
		t.Skip("python3 is not installed")
	}
	runtest.Missing(t, fmt.Sprintf("%v has neither psycopg nor psycopg2: apt install python3-psycopg2", tried))
	return ""
}

// Workers in other languages run under conch run, as a role with the rights of deploy/grants.sql.
// When conch is killed, the next worker goes on, and writes under the old term are refused.
func TestWorkers(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]func(*testing.T) []string{
		"python": func(t *testing.T) []string { return []string{python(t), example("python-worker", "worker.py")} },
		"shell": func(t *testing.T) []string {
			t.Helper()
			return []string{"sh", example("shell-worker", "worker.sh")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := command(t)
			db := migrated(t)
			c := pgtest.Granted(t, db)
			admin := db.Connect(t)
			pgtest.Exec(t, admin, `CREATE TABLE public.payments (id bigserial, epoch bigint NOT NULL, worker text NOT NULL)`)
			pgtest.Exec(t, admin, fmt.Sprintf(`GRANT SELECT, INSERT ON public.payments TO %q`, c.Node))
			pgtest.Exec(t, admin, fmt.Sprintf(`GRANT USAGE ON public.payments_id_seq TO %q`, c.Node))
			work := func(id string) *exec.Cmd {
				args := append([]string{"run", "--db", c.As(t, c.Node), "--scope", "it's", "--id", id, "--lease", "3s", "--fenced", "--"}, line...)
				cmd := prepared(t, args...)
				cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(pgtest.Psql(t))+":"+os.Getenv("PATH"))
				cmd.Stderr = &talk{t: t, who: id}
				return cmd
			}
			first := start(t, work("one"))
			first.says("under epoch 1")
			second := start(t, work("two"))
			pgtest.Eventually(t, patience, "the second is a candidate", func() bool {
				return strings.Contains(conch(t, "--db", db.URL, "status").out, "one, two")
			})
			first.Kill()
			second.says("under epoch 2")
			stale := exec.Command(line[0], line[1:]...)
			stale.Env = append(second.Cmd.Environ(), "CONCH_SCOPE=it's", "CONCH_EPOCH=1", "CONCH_ID=stale", "CONCH_DB_URL="+c.As(t, c.Node),
				"CONCH_TERM="+term(t, admin, 1))
			if out, err := proctest.Output(t, stale, patience); err == nil || !strings.Contains(out, "somebody else leads it's by now") {
				t.Errorf("a worker with an old term: error %v, want one that somebody else leads; output:\n%s", err, out)
			}
			if code := second.stop(syscall.SIGTERM); code != 0 {
				t.Errorf("asked to end: exit code %d, want 0", code)
			}
			var disorder, stales int
			err := admin.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE epoch < before), count(*) FILTER (WHERE worker = 'stale')
				FROM (SELECT *, lag(epoch) OVER (ORDER BY id) AS before FROM public.payments) p`).Scan(&disorder, &stales)
			if err != nil || disorder+stales > 0 {
				t.Errorf("%d rows come after a later epoch and %d are by a stale worker, error %v; want none", disorder, stales, err)
			}
		})
	}
}

// talk logs a process's stderr.
type talk struct {
	t   *testing.T
	who string
}

func (w *talk) Write(text []byte) (int, error) {
	w.t.Logf("%s: %s", w.who, strings.TrimSpace(string(text)))
	return len(text), nil
}

// term returns a made-up term: the database forgets old ones, and the fence checks the epoch first.
func term(t *testing.T, conn *pgx.Conn, epoch int64) string {
	t.Helper()
	var text string
	if err := conn.QueryRow(t.Context(), `SELECT gen_random_uuid()::text FROM conch.leadership WHERE epoch > $1`, epoch).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// The curl loop acts only where the gate is open.
func TestTheHTTPGate(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	for _, tool := range []string{"curl", "awk", "timeout"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed, and the example needs it", tool)
		}
	}
	db := migrated(t)
	const api = "listen = \"127.0.0.1:0\"\nanswer_max = \"2s\"\n[election]\nlease = \"3s\"\n[[roles]]\nname = \"payments\"\n"
	leads := startDaemon(t, "one", db.URL, api)
	address := func(d *daemon) string { return "http://" + fmt.Sprint(d.value("serving the API", "address")) }
	open := func(d *daemon) bool {
		ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address(d)+"/v1/scopes/payments/gate", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(ask)
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}
	pgtest.Eventually(t, patience, "the gate is open", func() bool { return open(leads) })
	follows := startDaemon(t, "two", db.URL, api)
	file := filepath.Join(t.TempDir(), "acts")
	for _, d := range []*daemon{leads, follows} {
		loop := exec.Command("sh", example("http-gate", "gate.sh"), "payments",
			"sh", "-c", `echo "$0 $CONCH_EPOCH" >>`+file+`; sleep 0.6; echo end >>`+file, d.id)
		loop.Env = append(os.Environ(), "CONCH_API="+address(d), "ACT_MS=1200") // longer than the default validity of an answer
		loop.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		proctest.Start(t, loop)
		t.Cleanup(func() { _ = syscall.Kill(-loop.Process.Pid, syscall.SIGKILL) })
	}
	acts := func() string { text, _ := os.ReadFile(file); return string(text) }
	pgtest.Eventually(t, patience, "the leader has acted twice", func() bool { return strings.Count(acts(), "one 1\n") >= 2 })
	if text := acts(); strings.Contains(text, "two") {
		t.Errorf("the follower acted:\n%s", text)
	}
	leads.stop(syscall.SIGTERM)
	pgtest.Eventually(t, patience, "the next leader acts", func() bool { return strings.Contains(acts(), "two 2\nend\n") })
	if text := acts(); strings.Contains(text[strings.Index(text, "two"):], "one") || !strings.Contains(text, "end\ntwo 2\n") {
		t.Errorf("the old leader acted after or during an act of the new one, want it to stop first:\n%s", text)
	}
	http.DefaultClient.CloseIdleConnections()
}

// HAProxy and nginx accept the sample configurations for them.
func TestTheGateSamples(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"haproxy": {"-c", "-f", example("http-gate", "haproxy.cfg")},
		"nginx":   {"-t", "-q", "-p", "PREFIX", "-g", "pid PREFIX/pid; error_log stderr;", "-c", "PREFIX/nginx.conf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("%s is not installed, so its sample is not checked", name)
			}
			prefix := t.TempDir()
			if name == "nginx" { // its default folders belong to another user
				text, err := os.ReadFile(example("http-gate", "nginx.conf"))
				if err != nil {
					t.Fatal(err)
				}
				folders := "http {"
				for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
					folders += fmt.Sprintf(" %s_temp_path %s/%s;", kind, prefix, kind)
				}
				text = []byte(strings.Replace(string(text), "http {", folders+" access_log off;", 1))
				if err := os.WriteFile(filepath.Join(prefix, "nginx.conf"), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "PREFIX", prefix)
			}
			cmd := exec.Command(tool, args...)
			cmd.Env = append(os.Environ(), "TOKEN_READ=0123456789")
			cmd.WaitDelay = time.Second
			if out, err := proctest.Output(t, cmd, patience); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
