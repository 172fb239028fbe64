package main_test

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// patience bounds waits for what an idle machine does at once.
const patience = time.Minute

// running is a running command, such as a node or a watch.
type running struct {
	*proctest.Process
	t     *testing.T
	stdin io.Closer
}

func start(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	return &running{Process: proctest.Listen(t, cmd), t: t, stdin: stdin}
}

// end closes the command's stdin, waits for its end and returns the exit code.
func (r *running) end() int {
	r.t.Helper()
	_ = r.stdin.Close()
	return r.Wait(longPatience)
}

// stop sends a signal, as a service manager would, waits and returns the exit code.
func (r *running) stop(sig syscall.Signal) int {
	r.t.Helper()
	r.Signal(sig)
	return r.Wait(longPatience)
}

// says waits for a line with a text.
func (r *running) says(text string) {
	r.t.Helper()
	r.Says(patience, text)
}

// leader starts a node and waits until it leads.
func leader(t *testing.T, db *pgtest.DB, scope, id string) *running {
	t.Helper()
	n := candidate(t, db, scope, id)
	n.says(`"entered"`)
	return n
}

func candidate(t *testing.T, db *pgtest.DB, scope, id string) *running {
	t.Helper()
	return start(t, prepared(t, "demo-node", "--db", db.URL, "--scope", scope, "--id", id, "--dir", t.TempDir(), "--lease", "3s"))
}

func decode[T any](t testing.TB, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

func wantKeys(t *testing.T, object map[string]any, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if _, ok := object[key]; !ok {
			t.Errorf("%q is missing among %v", key, slices.Sorted(maps.Keys(object)))
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	status := func(args ...string) []map[string]any {
		t.Helper()
		return decode[[]map[string]any](t, conch(t, append([]string{"--db", db.URL, "status", "--json"}, args...)...).done(t))
	}
	if text := conch(t, "--db", db.URL, "status", "--json").done(t); text != "[]\n" {
		t.Errorf("without scopes status prints %q, want []", text)
	}
	conch(t, "--db", db.URL, "status").done(t)
	one := leader(t, db, "payments", "one")
	candidate(t, db, "payments", "two").says(`"following"`)
	leader(t, db, "reports", "three")

	both := status()
	if len(both) != 2 || both[0]["scope"] != "payments" || both[1]["scope"] != "reports" {
		t.Fatalf("status prints %v, want payments and reports", both)
	}
	wantKeys(t, both[0], "scope", "epoch", "holder", "acquired_at", "heartbeat_at", "heartbeat_age_ms", "released", "candidates")
	if l := both[0]; l["holder"] != "one" || l["epoch"] != 1.0 || l["released"].(bool) || l["heartbeat_age_ms"].(float64) > 5000 {
		t.Errorf("status of payments: got %v, want holder one, epoch 1, not released, a fresh heartbeat", l)
	}
	if c := both[0]["candidates"]; !slices.Equal(c.([]any), []any{"one", "two"}) {
		t.Errorf("candidates: got %v, want one and two", c)
	}
	if _, err := time.Parse(time.RFC3339Nano, both[0]["acquired_at"].(string)); err != nil {
		t.Error(err)
	}
	if only := status("--scope", "reports"); len(only) != 1 || only[0]["holder"] != "three" {
		t.Errorf("status --scope reports: got %v, want holder three", only)
	}
	if none := status("--scope", "never heard of"); len(none) != 0 {
		t.Errorf("status of an unknown scope: got %v, want nothing", none)
	}
	table := conch(t, "--db", db.URL, "status").done(t)
	for _, part := range []string{"SCOPE", "payments", "one, two", "leads", "reports", "three"} {
		if !strings.Contains(table, part) {
			t.Errorf("the table does not show %q:\n%s", part, table)
		}
	}
	if code := one.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("a node that was asked to end: exit code %d, want 0", code)
	}
	pgtest.Eventually(t, patience, "two takes over", func() bool { return status("--scope", "payments")[0]["holder"] == "two" })
}

func TestHistoryAndWatch(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := migrated(t)
	if text := conch(t, "--db", db.URL, "history", "--json").done(t); text != "" {
		t.Errorf("an empty history prints %q, want nothing", text)
	}
	leader(t, db, "reports", "other").stop(syscall.SIGTERM)
	stream := start(t, prepared(t, "--db", db.URL, "watch", "--scope", "payments", "--json"))
	plain := start(t, prepared(t, "--db", db.URL, "watch"))
	// A watch shows events from its start on, which a test cannot see: let the scope change hands
	// until both watches have seen an event.
	seen, told := "", ""
	for n := 0; (seen == "" || !strings.Contains(told, "payments  epoch ")) && n < 20; n++ {
		leader(t, db, "payments", "one").stop(syscall.SIGTERM)
		for late := time.After(500 * time.Millisecond); late != nil; {
			select {
			case line := <-stream.Lines:
				seen = cmp.Or(seen, line)
			case line := <-plain.Lines:
				told += line
			case <-late:
				late = nil
			}
		}
	}
	event := decode[map[string]any](t, seen)
	wantKeys(t, event, "at", "scope", "epoch", "holder", "event", "reason", "actor")
	delete(event, "gap_ms") // only in events that begin a leadership
	if len(event) != 7 || event["scope"] != "payments" || event["holder"] != "one" {
		t.Errorf("watch prints %v, want 7 keys, scope payments, holder one", event)
	}
	if !strings.Contains(told, "payments  epoch ") {
		t.Errorf("the plain watch prints %q, want an event of payments", told)
	}
	for _, w := range []*running{stream, plain} {
		if code := w.stop(syscall.SIGINT); code != 0 {
			t.Errorf("watch after Ctrl-C: exit code %d, want 0", code)
		}
	}

	var events []string
	text := conch(t, "--db", db.URL, "history", "--scope", "payments", "--json").done(t)
	for line := range strings.Lines(text) {
		e := decode[map[string]any](t, line)
		wantKeys(t, e, "at", "scope", "epoch", "holder", "event", "reason", "actor")
		events = append(events, e["event"].(string))
	}
	if len(events) < 2 || events[0] != "acquired" || events[1] != "released" {
		t.Errorf("the history of payments is %v, want acquired, released and more", events)
	}
	newest := conch(t, "--db", db.URL, "history", "--limit", "1", "--json").done(t)
	if strings.Count(newest, "\n") != 1 || !strings.HasSuffix(text, newest) {
		t.Errorf("history --limit 1 prints %q, want the last event alone", newest)
	}
	table := conch(t, "--db", db.URL, "history").done(t)
	for _, part := range []string{"EVENT", "GAP", "reports", "payments", "acquired", "released"} {
		if !strings.Contains(table, part) {
			t.Errorf("the table does not show %q:\n%s", part, table)
		}
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t, "UTF8")
	type schema struct {
		Current, Latest int
		Wings           []struct {
			Wing            string
			Current, Latest int
		}
		Migrations []struct {
			Wing      string
			Version   int
			Name      string
			AppliedAt *time.Time `json:"applied_at"`
		}
	}
	at := func(args ...string) schema {
		t.Helper()
		return decode[schema](t, conch(t, append([]string{"--db", db.URL, "--json", "migrate"}, args...)...).done(t))
	}
	if s := at("status"); s.Current != 0 || s.Latest < 3 || len(s.Wings) != 5 || len(s.Migrations) != s.Latest+s.Wings[1].Latest+s.Wings[2].Latest+s.Wings[3].Latest+s.Wings[4].Latest {
		t.Errorf("before up: got %+v, want schema 0 and all migrations of five wings", s)
	}
	for range 2 { // the second time there is nothing to do
		if s := at("up"); s.Current != s.Latest || s.Wings[1].Wing != "pending" || s.Wings[1].Current != s.Wings[1].Latest || s.Wings[2].Wing != "sequencer" || s.Wings[2].Current != s.Wings[2].Latest || s.Migrations[0].AppliedAt == nil {
			t.Errorf("after up: got %+v, want all wings at their latest version", s)
		}
	}
	text := conch(t, "--db", db.URL, "migrate", "status").done(t)
	said := regexp.MustCompile(`schema \d+ of \d+, pending \d+ of \d+, sequencer \d+ of \d+, schedule \d+ of \d+, alerts \d+ of \d+`).FindString(text)
	if said == "" || !strings.Contains(text, "WING") {
		t.Errorf("migrate status prints %q, want WING and how many migrations there are", text)
	}
	for _, page := range []string{"README.md", "docs/quickstart.md", "docs/operations.md"} { // they show it
		if prose, err := os.ReadFile(filepath.Join("../..", page)); err != nil || !strings.Contains(string(prose), said) {
			t.Errorf("%s does not show %q: %v", page, said, err)
		}
	}
	holder := leader(t, db, "payments", "one")
	conch(t, "--db", db.URL, "migrate", "down").refused(t, 1, "one", `"payments"`)
	holder.stop(syscall.SIGTERM)
	if s := at("down"); s.Current != 0 {
		t.Errorf("after down: got %+v, want schema 0", s)
	}
	conch(t, "--db", db.URL, "status").refused(t, 1, "conch migrate up")
	at("up")
	kept := decode[[]map[string]any](t, conch(t, "--db", db.URL, "status", "--json").done(t))
	if len(kept) != 1 || kept[0]["epoch"] != 1.0 {
		t.Errorf("after down and up the status is %v, want epoch 1 kept", kept)
	}
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	deposed := leader(t, db, "payments", "one")
	advance := func(epoch string) result {
		t.Helper()
		return conch(t, "--db", db.URL, "migrate", "advance", "--scope", "payments", "--epoch", epoch, "--json")
	}
	got := decode[map[string]any](t, advance("5000").done(t))
	if got["scope"] != "payments" || got["epoch"] != 5000.0 {
		t.Errorf("advance prints %v, want scope payments and epoch 5000", got)
	}
	deposed.says(`"lost"`)
	advance("5000").refused(t, 1, `conch: scope "payments"`, "never goes down")
	advance("7").refused(t, 1, "payments")
	advance("9223372036854775807").refused(t, 2, "4611686018427387904")
	all := func() string {
		return conch(t, "--db", db.URL, "migrate", "advance", "--all", "--epoch", "6000").done(t)
	}
	if text := all(); text != "the epoch of \"payments\" is 6000 now\n" {
		t.Errorf("advance --all prints %q, want the new epoch of payments", text)
	}
	if text := all(); !strings.Contains(text, "above already") {
		t.Errorf("a second advance --all prints %q, want that all are above already", text)
	}
	pgtest.Eventually(t, patience, "the next epoch is above", func() bool {
		s := decode[[]map[string]any](t, conch(t, "--db", db.URL, "status", "--json").done(t))
		return s[0]["epoch"].(float64) > 5000
	})
}
