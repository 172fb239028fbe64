package main_test

import (
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// hostile is what others write: it clears the screen, in three ways, forges a line and a cell, turns the direction of the text,
// and hides. An error of a database, a name in it, and whatever a node answers may have it.
const hostile = "x\x1b[2J\u009b2J\x07\x7f\r\nFORGED line\tFORGED cell\u202e\u2066\u200f\u061c\u200b\u2028\u2029\U000e0041\ufeff\u3164z"

// checkInert fails if an output does something to a terminal, or has a line that somebody else has made.
func checkInert(t *testing.T, r result) {
	t.Helper()
	for _, text := range []string{r.out, r.err} {
		if !utf8.ValidString(text) {
			t.Errorf("it prints %q, which is not UTF-8", text)
		}
		for _, c := range text {
			if c < ' ' && c != '\n' && c != '\t' || 0x7f <= c && c < 0xa0 || strings.ContainsRune(hostile[1:], c) && c > 0x7f {
				t.Fatalf("it prints %U in %q", c, text)
			}
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "FORGED") || strings.Contains(line, "  FORGED cell") {
				t.Errorf("others have made the line or the cell %q", line)
			}
		}
	}
}

// answers is a document that has what every command looks for in an answer of a node.
func answers(path string) map[string]any {
	h, now := hostile, time.Now()
	doc := map[string]any{
		"id": h, "account": h, "to": h, "value": h, "state": h, "fate": h, "why": h, "hash": h, "created_at": now, "witnesses": []string{h, h},
		"waiting_for": map[string]any{"reason": h, "since": now, "until": now, "refusals": 3},
		"address":     h, "chain": h, "domain": h, "coordinator": h, "next": h, "warning": h, "unread": h, "waits": h, "open": map[string]int{h: 1},
		"contract": h, "idempotency_key": h, "request": map[string]string{h: h}, "attempt": h, "accepted_at": now,
		"story":     []any{map[string]any{"at": now, "state": h, "event": h, "node": h, "endorsers": []string{h}, "why": h}},
		"namespace": h, "self": h, "role": h, "leader": h, "advice": h, "as_of": now, "index": 7, "goal_id": h, "result": h,
		"position": map[string]any{"index": 7, "hash": h}, "members": []any{map[string]any{"name": h, "key": h, "account": h}},
		"answer": h, "overlay": map[string]any{}, "neighbours": []any{map[string]any{"name": h, "differs": []string{h}}}, "refused": map[string]int{h: 1},
		"namespaces": []any{map[string]any{"namespace": h, "leader": h, "since": now, "state": h, "electors": []string{h}}},
		"news":       []any{map[string]any{"namespace": h, "subject": h, "topic": h, "body": []byte(h)}},
		"receipt":    map[string]any{"status": h, "fee": h, "effective_gas_price": h, "contract_address": h, "logs": []any{}},
		"attempts":   []any{map[string]any{"hash": h, "max_fee": h, "max_tip": h, "error": h, "signed_at": now}},
		"twins":      []any{map[string]any{"name": h, "last_seen": now, "over": true}}, "unreached": []any{map[string]any{"name": h, "why": h, "since": now}},
	}
	if strings.Contains(path, "entries") {
		doc["as_of"] = map[string]any{"index": 7, "hash": h}
		if !strings.Contains(path, "from=8") {
			doc["entries"] = []any{map[string]any{"index": 7, "kind": h, "leader": h, "goal_id": h, "goal": h, "result": h, "hash": h, "prev": h, "changes": []string{h}}}
		} else {
			doc["entries"] = []any{}
		}
	}
	if strings.HasSuffix(path, "/state") {
		doc["as_of"] = map[string]any{"index": 7, "hash": h}
	}
	one := maps.Clone(doc)
	doc["silences"] = []any{map[string]any{"id": h, "state": h, "by": h, "comment": h, "matchers": []any{map[string]string{"label": h, "op": h, "value": h}}}}
	doc["transactions"], doc["contracts"], doc["logs"] = []any{one}, []any{one}, []any{one}
	doc["accounts"] = []any{map[string]any{"name": h, "chain": h, "address": h, "balance": h, "unknown": h}}
	return doc
}

// refusing is a Postgres server that lets nobody in, with these words.
func refusing(t *testing.T, words string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadAtLeast(conn, make([]byte, 4096), 8)
			body := "SFATAL\x00VFATAL\x00C28000\x00M" + words + "\x00\x00"
			_, _ = conn.Write(append([]byte{'E', 0, 0, byte((len(body) + 4) >> 8), byte(len(body) + 4)}, body...))
			_ = conn.Close()
		}
	}()
	return "postgres://u@" + l.Addr().String() + "/x?sslmode=disable"
}

// leaves lists the commands that do something, such as "tx send", from what the program tells a shell that completes them.
func leaves(t *testing.T, under ...string) (all []string) {
	t.Helper()
	out := conch(t, append(append([]string{"__complete"}, under...), "")...).out
	for line := range strings.Lines(out) {
		name, _, is := strings.Cut(line, "\t")
		if !is || name == "help" || name == "completion" {
			continue
		}
		if below := leaves(t, append(slices.Clone(under), name)...); len(below) > 0 {
			all = append(all, below...)
		} else {
			all = append(all, strings.Join(append(slices.Clone(under), name), " "))
		}
	}
	return all
}

// askNodes are the commands that ask a node, with what they need.
var askNodes = map[string][]string{
	"tx send":           {"--account", "a", "--to", "0x00000000000000000000000000000000000000aa"},
	"tx send --dry-run": {"--account", "a", "--to", "0x00000000000000000000000000000000000000aa"},
	"tx show":           {"1"},
	"tx list":           nil,
	"tx cancel":         {"1"},
	"tx accounts":       nil,
	"tx life":           {"payer"},
	"webhooks list":     {"--dead", "a"},
	"webhooks replay":   {"a", "--dead"},
	"contract deploy":   {"--account", "a", "--member", "a=0x00000000000000000000000000000000000000aa", "--member", "b=0x00000000000000000000000000000000000000bb", "--issuer", "a"},
	"contract list":     nil,
	"contract show":     {"0x00000000000000000000000000000000000000aa"},
	"contract cancel":   {"0x00000000000000000000000000000000000000aa", "1"},
	"contract drain":    {"0x00000000000000000000000000000000000000aa"},
	"contract send":     {"0x00000000000000000000000000000000000000aa", "--request", "{}"},
	"log create":        {"l", "--members", "a,b,c"},
	"log goal":          {"l", `{"op":"put"}`, "--since", "1"},
	"log consult":       {"l", "words_test.go"},
	"log listing":       {"l", "at/2"},
	"log query":         {"l", `{"get":"x"}`},
	"log tail":          {"l"},
	"log members":       {"l"},
	"log status":        nil,
	"log verify":        {"l"},
	"crons list":        nil,
	"crons show":        {"c"},
	"crons next":        {"c"},
	"crons run-now":     {"c"},
	"crons pause":       {"c"},
	"crons resume":      {"c"},
	"jobs list":         nil,
	"jobs show":         {"7"},
	"jobs add":          {"--queue", "q", "--handler", "h"},
	"jobs cancel":       {"7"},
	"jobs release":      nil,
	"jobs retry":        {"7"},
	"dead list":         nil,
	"dead retry":        {"--resume", operation},
	"dead discard":      {"--resume", operation},
	"alerts test":       {"r"},
	"alerts silence":    nil,
	"status --gossip":   nil,
	"status --logs":     nil,
}

const operation = "0d0fb3a4-7c1e-4bb1-9c6f-2b2f6d0b8f11"

// numbersOnly are those of them that print no word of a node when all is well.
var numbersOnly = map[string]bool{"jobs add": true, "jobs release": true, "crons next": true, "dead retry": true, "dead discard": true, "webhooks replay": true}

// schedules is a document with what the commands of crons and jobs look for.
func schedules(path string) map[string]any {
	h, now := hostile, time.Now()
	calls := map[string]any{"job": h, "http": h, "command": []string{h}}
	if strings.HasPrefix(path, "/v1/crons") {
		past := []any{map[string]any{"at": now, "outcome": h, "job": 7, "decided_at": now}}
		one := map[string]any{
			"name": h, "schedule": h, "timezone": h, "handler": calls, "args": h, "catch_up": h, "overlap": h, "timeout": h, "queue": h,
			"since": now, "by": h, "fault": h, "next": []any{}, "last": past[0], "past": past, "runs": past,
			"gaps": []any{map[string]any{"from": now, "to": now, "count": 7, "why": h}},
		}
		one["crons"] = []any{maps.Clone(one)}
		return one
	}
	one := map[string]any{
		"id": 7, "state": h, "queue": h, "handler": calls, "args": h, "timeout": h, "lane": h, "key": h, "cron": h, "worker": h,
		"created_at": now, "by": h, "why": h, "progress": h, "released": true,
		"attempts": []any{map[string]any{"attempt": 7, "outcome": h, "worker": h, "began_at": now, "ended_at": now, "error": h}},
	}
	if strings.Contains(path, operation) {
		return map[string]any{"id": operation, "kind": h, "queue": h, "by": h, "done": 7, "ended_at": now}
	}
	one["jobs"] = []any{maps.Clone(one)}
	return one
}

// receivers is a document with what the commands of webhooks look for.
func receivers() map[string]any {
	h, now := hostile, time.Now()
	return map[string]any{
		"webhooks": []any{map[string]any{"name": h, "here": true, "events": []string{h}, "failing_since": now, "why": h}},
		"dead":     []any{map[string]any{"event": h, "type": h, "id": h, "account": h, "timestamp": now, "died_at": now, "why": h}},
		"replayed": 7,
	}
}

// readBase are the commands that show what a database has.
var readBase = map[string][]string{
	"status": nil, "history": nil, "migrate status": nil, "doctor": nil, "watch": nil,
	"drain": {"--scope", "a"}, "transfer": {"--scope", "a", "--to", "b"}, "scope forget": {"a"},
	"policy list": nil, "policy show": {"a"}, "policy delete": {"a"}, "policy set": {"testdata/policy.json"},
	"migrate up": nil, "migrate down": nil, "migrate advance": {"--scope", "a", "--epoch", "7"},
}

// ownWords are the commands that print what conch and their caller have written, and why.
var ownWords = map[string]string{
	"node": "its log, which leaves by the same outlet", "run": "its log, and what its command writes to a terminal by itself",
	"cron": "what its command writes to a terminal by itself", "gate": "nothing, or in JSON what the node answers",
	"reload": "what the node of a data_dir answers: a file of the caller's", "config check": "faults of the caller's file",
	"migrate grants": "SQL of conch", "identity new": "a fingerprint", "identity show": "a fingerprint", "version": "the version", "account new": "an address",
	"log recover": "a file of the caller's", "alerts check": "faults of the caller's file", "alerts list": "alerts of the caller's file", "alerts export": "alerts of the caller's file",
	"demo": "the laboratory's",
}

// Bad input: whatever a node, a database, and those who write into one say, it is words on a terminal and nothing else. A command that
// is new has to be in one of the three lists.
func TestOthersWordsDoNothing(t *testing.T) {
	t.Parallel()
	for _, leaf := range leaves(t) {
		_, asks := askNodes[leaf]
		_, reads := readBase[leaf]
		if _, says := ownWords[leaf]; !asks && !reads && !says {
			t.Errorf("conch %s is in none of the lists of this test: add it where it belongs", leaf)
		}
	}
	var problem atomic.Bool
	node := httptest.NewUnstartedServer(nil)
	answer := func(w http.ResponseWriter, req *http.Request) {
		doc := answers(req.URL.String())
		if strings.HasPrefix(req.URL.Path, "/v1/webhooks") {
			doc = receivers()
		}
		if of := req.URL.Path; strings.HasPrefix(of, "/v1/crons") || strings.HasPrefix(of, "/v1/jobs") || strings.HasPrefix(of, "/v1/dead") {
			doc = schedules(of)
		}
		if problem.Load() {
			w.WriteHeader(http.StatusConflict)
			doc = map[string]any{"title": hostile, "detail": hostile}
		}
		_ = json.NewEncoder(w).Encode(doc) //nolint:errchkjson // texts and numbers
	}
	node.Config.Handler = http.HandlerFunc(answer)
	node.Start()
	defer node.Close()
	for _, refuses := range []bool{false, true} {
		problem.Store(refuses)
		for command, args := range askNodes {
			if command == "log verify" {
				args = append(slices.Clone(args), "--node", strings.Replace(node.URL, "127.0.0.1", "localhost", 1))
			}
			forms := [][]string{nil, {"--json"}}
			if refuses {
				forms = forms[:1]
			}
			for _, form := range forms {
				r := conch(t, slices.Concat(strings.Fields(command), args, form, []string{"--node", node.URL})...)
				if said := r.out + r.err; !strings.Contains(said, "2J") && (refuses || !numbersOnly[command]) {
					t.Errorf("conch %s says %q, want it to say what it was told", command, said)
				}
				checkInert(t, r)
				if form != nil && r.out != "" && !json.Valid([]byte(strings.Split(r.out, "\n")[0])) {
					t.Errorf("conch %s --json prints %q, want JSON", command, r.out)
				}
			}
		}
	}
	for command, args := range readBase {
		r := conch(t, slices.Concat([]string{"--db", refusing(t, hostile)}, strings.Fields(command), args)...)
		if !strings.Contains(r.err+r.out, "2J") {
			t.Errorf("conch %s says %q, want what the server has said", command, r.err)
		}
		checkInert(t, r)
	}
}

// Bad input: who may write a row, or a name that the server shows, writes no command to an operator's terminal.
func TestNamesInTheDatabaseDoNothing(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	c, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	for _, sql := range []string{
		`INSERT INTO conch.leadership (scope, lock_key, epoch, term, holder, lease_ms, hold_ms, released, process_key, takeover, system_id, timeline, acquired_at)
			VALUES ($1, 1, 7, gen_random_uuid(), $1, 3000, 0, false, 1, 'strict', 1, 1, now())`,
		`INSERT INTO conch.leadership_history (scope, epoch, holder, event, reason, actor) VALUES ($1, 7, $1, 'failed', $1, $1)`,
		`SELECT set_config('application_name', $1, false)`,
	} {
		if _, err := c.Exec(t.Context(), sql, hostile); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{"status", "history", "doctor"} {
		for _, form := range []string{"--json=false", "--json"} {
			r := conch(t, "--db", db.URL, command, form)
			if !strings.Contains(r.out, "2J") {
				t.Errorf("conch %s prints %q, want the row", command, r.out)
			}
			checkInert(t, r)
		}
	}
}

// Bad input: a scope that readers take for another is not led any more, and one from before that is seen, and reached by operators.
func TestNamesThatLookAlike(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	c, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	for _, scope := range []string{"mailer", "mailer ", "..", "Mailer"} {
		if _, err := c.Exec(t.Context(), `INSERT INTO conch.leadership (scope, lock_key, epoch, term, holder, lease_ms, hold_ms, released, process_key, takeover, system_id, timeline, acquired_at, parted_at)
			VALUES ($1, 1, 7, gen_random_uuid(), 'a', 3000, 0, true, 1, 'strict', 1, 1, now(), now())`, scope); err != nil {
			t.Fatal(err)
		}
	}
	if text := conch(t, "--db", db.URL, "status").done(t); !strings.Contains(text, "\"mailer \"   7 ") || !strings.Contains(text, "\nmailer      7") {
		t.Errorf("status prints %s, want one of the two in quotes", text)
	}
	if text := conch(t, "--db", db.URL, "doctor").out; !strings.Contains(text, "look alike") {
		t.Errorf("doctor prints %s, want that some look alike", text)
	}
	for _, scope := range []string{"mailer ", ".."} {
		conch(t, "--db", db.URL, "migrate", "advance", "--scope", scope, "--epoch", "9").done(t)
		conch(t, "--db", db.URL, "run", "--scope", scope, "--", "true").refused(t, 2, "--scope")
		conch(t, "--db", db.URL, "run", "--id", scope, "--scope", "s", "--", "true").refused(t, 2, "instance id")
		conch(t, "--db", db.URL, "scope", "forget", scope).done(t)
	}
}

// Bad input: an answer that was not written whole is no success, and head that has enough is no fault.
func TestAnswersThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer func() { _ = full.Close() }()
	key := filepath.Join(t.TempDir(), "key.pem")
	conch(t, "identity", "new", "--file", key).done(t)
	for _, args := range []string{"migrate up --print", "migrate grants", "version", "version --json", "help", "tx --help", "identity show --file " + key, "completion bash"} {
		var said strings.Builder
		cmd := prepared(t, strings.Fields(args)...)
		cmd.Stdout, cmd.Stderr = full, &said
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(said.String(), "no space left on device") {
			t.Errorf("conch %s ends with %v and says %q, want 1 and that the device is full", args, err, &said)
		}
		said.Reset()
		cmd = prepared(t, "-c", `trap "" PIPE; "$0" "$@" | true`, program)
		cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" PIPE; "$0" "$@" | true`, program}, strings.Fields(args)...)
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil || said.Len() > 0 {
			t.Errorf("conch %s into a pipe that is closed says %q", args, &said)
		}
	}
}
