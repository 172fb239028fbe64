//go:build unix

package ui_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// process is a conch node that serves the page.
type process struct {
	*proctest.Process

	log *nodetest.Log
	url string
}

// started runs a node with roles that programs would ask about; at: where it listens. Holds are long enough for a browser to see.
func started(t *testing.T, db, id, at string, scopes ...string) *process {
	t.Helper()
	return startedWith(t, db, id, at, "", scopes...)
}

// startedWith is started with more keys of [node].
func startedWith(t *testing.T, db, id, at, more string, scopes ...string) *process {
	t.Helper()
	text := fmt.Sprintf("database.url = %q\n[node]\ndata_dir = \"data\"\nlisten = %q\n%s[election]\nlease = \"8s\"\n", db, at, more)
	for _, scope := range scopes {
		text += fmt.Sprintf("[[roles]]\nname = %q\n", scope)
	}
	file := filepath.Join(t.TempDir(), "conch.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &process{log: &nodetest.Log{}}
	cmd := conch(t, "node", "--config", file, "--id", id)
	cmd.Stderr = p.log
	p.Process = proctest.Start(t, cmd)
	p.log.Says(t, "node started")
	p.url = "http://" + p.log.Value(t, "serving the API", "address") + "/"
	return p
}

// conch prepares a call of the program, without the caller's database.
func conch(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	program, err := proctest.Build("conch", "../..", proctest.Stamp...)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "CONCH_") && (!strings.HasPrefix(setting, "PG") || strings.HasPrefix(setting, "PGT")) {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	return cmd
}

func migrated(t *testing.T, db string) {
	t.Helper()
	if out, err := proctest.Output(t, conch(t, "--db", db, "migrate", "up"), patience); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// F8, S32, rule 1: the page of a real node, over real deaths. Its first line says in words that a scope has no leader, that its next leader
// has to wait, and that nothing is known once Postgres is gone; it is live again without being loaded again, also when its node was started
// again, and has each event of the history once.
func TestThePageOfARealNode(t *testing.T) {
	t.Parallel()
	browser(t)
	server := pgtest.Own(t, postmaster.Config{})
	db := server.URL("postgres")
	migrated(t, db)
	at, err := fleet.LowPort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := started(t, db, "node-1", at, "payments", "mailer")
	victim := started(t, db, "node-2", "127.0.0.1:0", "lonely")
	b := open(t, seen.url, desk)
	b.says("All 3 scopes are led")
	js[bool](b, "self.same = true")

	victim.Kill()
	victim.Wait(patience)
	b.says("1 of 3 scopes has no leader")
	longDead(t, db)
	started(t, db, "node-3", "127.0.0.1:0", "lonely")
	b.says("All 3 scopes are led; 1 leader waits until no predecessor can act")
	b.says("All 3 scopes are led\n")

	b.at("#/timeline?w=1h")
	const longest = "document.querySelector('tbody tr')?.innerText.replaceAll('\\u00a0', ' ') ?? ''"
	b.until("the timeline says why nobody led", "/lonely[^]*23 min[^]*lost it: its session ended without a farewell; then nobody could take it: for 2[23] min no candidate was connected to the database/.test("+longest+")")
	b.at("#/leaders")

	server.Kill9()
	gone := time.Now()
	b.says("Not known: the database has not answered for")
	t.Logf("stale %s after the end of Postgres, which took the machine's time too", time.Since(gone).Round(10*time.Millisecond))
	for what, expression := range map[string]string{
		"a card says how its scope stands": "[...document.querySelectorAll('.card .state')].some((e) => !e.innerText.includes('not known now'))",
		"a button hands over":              "[...document.querySelectorAll('.card button')].some((e) => !e.disabled)",
		"the page has forgotten a scope":   "document.querySelectorAll('.card').length !== 3",
	} {
		if js[bool](b, expression) {
			t.Errorf("while Postgres is down %s", what)
		}
	}
	again, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := server.StartAgain(again); err != nil {
		t.Fatal(err)
	}
	b.says("All 3 scopes are led")
	b.tells(db)

	seen.Kill()
	seen.Wait(patience)
	b.says("Not known: node-1 has not answered for")
	started(t, db, "node-1", at, "payments", "mailer")
	b.says("All 3 scopes are led\n")
	b.tells(db)
	if !js[bool](b, "self.same === true") {
		t.Error("the page was loaded again")
	}
}

// F8: after a night without the database the timeline says of each scope that no candidate was connected, and that the server was started.
func TestTheTimelineSaysThatTheDatabaseWasAway(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	browser(t)
	server := pgtest.Own(t, postmaster.Config{})
	db := server.URL("postgres")
	migrated(t, db)
	seen := started(t, db, "node-1", "127.0.0.1:0", "payments", "mailer")
	started(t, db, "node-2", "127.0.0.1:0", "payments", "mailer")
	b := open(t, seen.url, desk)
	b.says("All 2 scopes are led")
	server.Kill9()
	b.says("Not known: the database has not answered for")
	b.until("it was away for long", "/for (4\\d|[5-9]\\d|\\d+ min)/.test(document.querySelector('.verdict h1').innerText)")
	again, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := server.StartAgain(again); err != nil {
		t.Fatal(err)
	}
	b.says("All 2 scopes are led")
	b.at("#/timeline?w=1h")
	b.until("it says so of both scopes", "[...document.querySelectorAll('tbody tr')].filter((e) => /then nobody could take it: for \\d+ s no candidate was connected to the database, whose server was started meanwhile/.test(e.innerText)).length === 2")
}

// longDead has a scope's leader be dead for 23 minutes, for which nobody was there to take over.
func longDead(t *testing.T, db string) {
	t.Helper()
	conn := pgtest.Connect(t, pg.Config{URL: db})
	for _, sql := range []string{
		`UPDATE conch.heartbeat SET beat_at = beat_at - interval '23 minutes' WHERE scope = 'lonely'`,
		`UPDATE conch.process SET started_at = started_at - interval '23 minutes', last_seen = last_seen - interval '23 minutes' WHERE id = 'node-2'`,
		`UPDATE conch.leadership SET acquired_at = acquired_at - interval '23 minutes' WHERE scope = 'lonely'`,
		`UPDATE conch.leadership_history SET at = at - interval '23 minutes' WHERE scope = 'lonely'`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// tells waits until the page has every event of the history, and fails if one is there twice.
func (b *tab) tells(db string) {
	b.t.Helper()
	conn := pgtest.Connect(b.t, pg.Config{URL: db})
	b.at("#/events")
	pgtest.Eventually(b.t, patience, "the page has the history", func() bool {
		var want string
		if err := conn.QueryRow(b.t.Context(), `SELECT coalesce(string_agg(scope || ' ' || epoch, ',' ORDER BY scope, epoch), '') FROM conch.leadership_history WHERE event = 'acquired'`).Scan(&want); err != nil {
			b.t.Fatal(err)
		}
		got := js[string](b, `[...document.querySelectorAll('.virtual .row')].map((r) => r.innerText.replaceAll('\u00a0', ' ')).filter((r) => r.includes('leads at epoch'))
			.map((r) => [/(payments|mailer|lonely)/.exec(r)?.[1], /leads at epoch (\d+)/.exec(r)?.[1]]).sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1])).map((r) => r.join(' ')).join(',')`)
		return got == want
	})
	b.at("#/leaders")
}
