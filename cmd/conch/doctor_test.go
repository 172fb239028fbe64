package main_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
)

type finding struct{ Check, Status, Detail, Remedy string }

// examined runs doctor and checks that its exit code fits the findings.
func examined(t *testing.T, address string) []finding {
	t.Helper()
	r := conch(t, "--db", address, "doctor", "--json")
	found := decode[[]finding](t, r.out)
	failed := slices.ContainsFunc(found, func(f finding) bool { return f.Status == "fail" })
	if failed != (r.code == 1) || failed != (r.err != "") || r.code > 1 {
		t.Errorf("exit code %d, stderr %q with the findings %+v; want 1 and a message only if one failed", r.code, r.err, found)
	}
	return found
}

func judged(found []finding, check string) finding {
	for _, f := range found {
		if f.Check == check {
			return f
		}
	}
	return finding{}
}

// S29: deploy/grants.sql grants a node what doctor asks for.
func TestDoctorUnderTheGrants(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := migrated(t)
	c := pgtest.Granted(t, db)
	fencer := c.As(t, c.Fence)
	leader(t, db, "payments", "one")
	for address, status := range map[string]string{db.URL: "ok", c.As(t, c.Node): "ok", c.As(t, c.Observer): "warn", fencer: "fail"} {
		found := examined(t, address)
		if f := judged(found, "privileges"); f.Status != status {
			t.Errorf("the finding is %+v, want %s", f, status)
		}
		if f := judged(found, "holders"); address != fencer && (f.Status != "ok" || !strings.Contains(f.Detail, "1 of 1")) {
			t.Errorf("the finding is %+v, want ok with 1 of 1", f)
		}
	}
}

func TestDoctorForPeople(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t, "UTF8")
	r := conch(t, "--db", db.URL, "doctor")
	for _, part := range []string{"STATUS", "CHECK", "ok", "reachable", "fail", "schema", "→ run `conch migrate up`"} {
		if !strings.Contains(r.out, part) {
			t.Errorf("the table does not show %q:\n%s", part, r.out)
		}
	}
	if r.code != 1 || !strings.Contains(r.err, "must be mended") || !strings.Contains(r.err, "schema") {
		t.Errorf("exit code %d, stderr %q; want 1 and the schema that must be mended", r.code, r.err)
	}
	found := examined(t, "postgres://conch:hunter2@127.0.0.1:1/app")
	if f := judged(found, "reachable"); f.Status != "fail" || strings.Contains(fmt.Sprint(found), "hunter2") {
		t.Errorf("the findings are %+v, want a failed reachable, without the password", found)
	}
	conch(t, "doctor", "extra").refused(t, 2, "takes no argument")
}

// Bad input: a secret that others may read, or that is none, is refused by the check, by the doctor and by the node alike, in the same
// words; one with the mark of an editor at its beginning is taken by all.
func TestSecretsAreJudgedAlike(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key, text string
		mode      os.FileMode
		want      string
	}{
		"tokens that all may read":  {"token_file", "ops 0123456789abcdef0123456789abcdef\n", 0o644, "every user of this machine may read it"},
		"readers that all may read": {"read_token_file", "0123456789abcdef0123456789abcdef\n", 0o604, "chmod 600"},
		"tokens in UTF-16":          {"token_file", "\xff\xfe0\x001\x00", 0o600, "is no text in UTF-8"},
		"tokens in a folder":        {"token_file", "", 0o700 | os.ModeDir, "is a folder"},
		"tokens with a mark":        {"token_file", "\ufeffops 0123456789abcdef0123456789abcdef\r\n", 0o640, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			secret, file := filepath.Join(dir, "secret"), filepath.Join(dir, "conch.toml")
			text := fmt.Sprintf("\ufeff[node]\nstandalone = true\nlisten = \"127.0.0.1:0\"\n%s = \"secret\"\n[[roles]]\nname = \"a\"\n", c.key)
			err := os.WriteFile(file, []byte(text), 0o600)
			if c.mode.IsDir() {
				err = errors.Join(err, os.Mkdir(secret, 0o700))
			} else {
				err = errors.Join(err, os.WriteFile(secret, []byte(c.text), 0o600), os.Chmod(secret, c.mode))
			}
			if err != nil {
				t.Fatal(err)
			}
			check, doctor := conch(t, "config", "check", "--config", file), conch(t, "doctor", "--config", file)
			if c.want == "" {
				check.done(t)
				doctor.done(t)
				return
			}
			for asked, r := range map[string]result{"check": check, "doctor": doctor, "node": conch(t, "node", "--config", file)} {
				if said := r.out + r.err; r.code == 0 || !strings.Contains(said, c.want) || !strings.Contains(said, c.key) || strings.Contains(said, "cdef") {
					t.Errorf("%s ends with %d and says %s, want that %s", asked, r.code, said, c.want)
				}
			}
		})
	}
}

// A role that fails at each start leads only for moments, but operators always see its failures.
func TestARoleThatFailsIsSeen(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := migrated(t)
	n := startDaemon(t, "n1", db.URL, "listen = \"127.0.0.1:0\"\n[election]\nlease = \"1s\"\n"+
		"[[roles]]\nname = \"broken\"\ncommand = [\"sh\", \"-c\", \"exit 3\"]\n[[roles]]\nname = \"well\"\nbuiltin = \"log\"\n")
	n.says("the role failed, its scope is given up", "level", "WARN", "scope", "broken", "reason", "the role ended: the command ended with code 3")
	var table string
	pgtest.Eventually(t, patience, "it has failed twice", func() bool {
		table = conch(t, "--db", db.URL, "status").done(t)
		return regexp.MustCompile(`; failed [2-9] times in 10m: the command ended with code 3`).MatchString(table)
	})
	all := decode[[]map[string]any](t, conch(t, "--db", db.URL, "status", "--json").done(t))
	if l := all[0]; l["failures"].(float64) < 2 || l["last_failure"] != "the role ended: the command ended with code 3" || l["last_failure_at"] == nil {
		t.Errorf("status of a role that fails: got %v, want 2 or more failures and the last one", l)
	}
	if l := all[1]; l["failures"] != 0.0 || l["last_failure"] != nil || strings.Contains(table, "well   1       n1       leads;") {
		t.Errorf("status of a role that works: got %v, want no failures; the table:\n%s", l, table)
	}
	if _, scope := get(t, n.api()+"/v1/scopes/broken"); scope["failures"].(float64) < 2 {
		t.Errorf("the API shows the scope as %v, want 2 or more failures", scope)
	}
	if f := judged(examined(t, db.URL), "roles"); f.Status != "warn" || !strings.Contains(f.Detail, "last: the command ended with code 3") {
		t.Errorf("doctor's finding is %+v, want warn with the last failure", f)
	}
	_, text := page(t, n.api()+"/metrics")
	if strings.Contains(text, `conch_role_failures_total{reason="failed",scope="broken"} 0`) || strings.Contains(text, `conch_role_failures_total{reason="failed",scope="broken"} 1`+"\n") {
		t.Error("/metrics counts 0 or 1 failures, want 2 or more")
	}
	for _, line := range []string{
		`conch_role_failures_total{reason="stalled",scope="broken"} 0`, `conch_role_failures_total{reason="failed",scope="well"} 0`,
		`conch_database_up 1`, `conch_candidates{scope="well"} 1`, `conch_leaderless_seconds{scope="well"} 0`, `conch_build_info{`,
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("no %s on the page", line)
		}
	}
}

// Neither history nor metrics show an outage as a handover of two milliseconds.
func TestAnOutageIsInTheHistory(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{})
	url := server.URL("postgres")
	conch(t, "--db", url, "migrate", "up").done(t)
	n := startDaemon(t, "n1", url, "listen = \"127.0.0.1:0\"\n[election]\nlease = \"3s\"\n[[roles]]\nname = \"mailer\"\nbuiltin = \"log\"\n")
	n.says("leadership acquired", "handoff", false) // the scope's first term
	n.says("leading", "scope", "mailer")
	stopped := time.Now()
	if err := syscall.Kill(server.PID(), syscall.SIGQUIT); err != nil { // pg_ctl stop -m immediate
		t.Fatal(err)
	}
	<-server.Gone()
	n.says("leadership lost")
	pgtest.Eventually(t, patience, "nobody has led for a lease", func() bool {
		_, text := page(t, n.api()+"/metrics")
		return strings.Contains(text, "conch_database_up 0") && time.Since(stopped) > 3*time.Second
	})
	away := time.Since(stopped)
	if err := server.StartAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, patience, "it leads again", func() bool { return n.count("leadership acquired") == 2 })
	if n.count("leadership acquired", "handoff", true) > 0 {
		t.Error("the log shows a handover, want none")
	}
	var told []string
	var gap time.Duration
	lines := bufio.NewScanner(strings.NewReader(conch(t, "--db", url, "history", "--json").done(t)))
	for lines.Scan() {
		e := decode[map[string]any](t, lines.Text())
		what := e["event"].(string)
		if ms, ok := e["gap_ms"].(float64); ok {
			gap = time.Duration(ms) * time.Millisecond
			what += " after a gap"
		}
		told = append(told, what)
	}
	if got := strings.Join(told, ", "); got != "acquired, lost, acquired after a gap" || gap < away {
		t.Errorf("the history shows %s of %s, want acquired, lost, acquired after a gap of %s or more", got, gap, away)
	}
	if table := conch(t, "--db", url, "history").done(t); !strings.Contains(table, "GAP") || !strings.Contains(table, "session lost") {
		t.Errorf("want a column GAP and session lost in the table:\n%s", table)
	}
	_, text := page(t, n.api()+"/metrics")
	for _, line := range []string{
		`conch_leader_failovers_total{scope="mailer"} 1`, `conch_leadership_lost_total{reason="session_lost",scope="mailer"} 1`, `conch_database_up 1`,
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("no %s on the page", line)
		}
	}
}

// Another session has the lock of a scope: status names the session and the remedy.
func TestAScopeThatNobodyLeadsIsSeen(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := migrated(t)
	stranger := db.Connect(t)
	if _, err := stranger.Exec(t.Context(), `SELECT pg_advisory_lock(conch.lock_key('payments'))`); err != nil {
		t.Fatal(err)
	}
	n := startDaemon(t, "n1", db.URL, "listen = \"127.0.0.1:0\"\n[election]\nlease = \"1s\"\n[[roles]]\nname = \"payments\"\n")
	remedy := fmt.Sprintf("SELECT pg_terminate_backend(%d)", stranger.PgConn().PID())
	n.says("NOBODY LEADS this scope", "level", "WARN", "scope", "payments")
	if table := conch(t, "--db", db.URL, "status").done(t); !strings.Contains(table, "\npayments: its lock key is held by pid ") || !strings.Contains(table, remedy) {
		t.Errorf("want the session and the remedy in the status:\n%s", table)
	}
	var scope map[string]any
	defer func() {
		if t.Failed() {
			t.Logf("over HTTP, last: %v", scope)
		}
	}()
	// The last bid may have failed for another reason, such as a statement timeout; the next shows this one.
	pgtest.Eventually(t, patience, "the API shows the obstacle", func() bool {
		_, scope = get(t, n.api()+"/v1/scopes/payments")
		here, _ := scope["here"].(map[string]any)
		why, _ := here["why"].(string)
		obstacle, _ := scope["obstacle"].(string)
		ms, _ := here["leaderless_ms"].(float64)
		return ms >= 3000 && strings.Contains(why, remedy) && strings.Contains(obstacle, remedy)
	})
	if _, text := page(t, n.api()+"/metrics"); !strings.Contains(text, `conch_leaderless_seconds{scope="payments"} `) || strings.Contains(text, `conch_leaderless_seconds{scope="payments"} 0`+"\n") {
		t.Error("/metrics shows no time without a leader, want one above 0")
	}
	if f := judged(examined(t, db.URL), "leaders"); f.Status != "fail" || !strings.Contains(f.Detail, remedy) {
		t.Errorf("doctor's finding is %+v, want fail with the remedy", f)
	}
	if _, err := db.Connect(t).Exec(t.Context(), remedy); err != nil {
		t.Fatal(err)
	}
	n.says("leadership entered", "scope", "payments")
	pgtest.Eventually(t, patience, "the metrics show that the scope is led", func() bool {
		_, text := page(t, n.api()+"/metrics")
		return strings.Contains(text, `conch_leaderless_seconds{scope="payments"} 0`+"\n")
	})
}
