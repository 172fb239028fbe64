//go:build unix

package main_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
)

// daemon is a conch node under test, with its log.
type daemon struct {
	t    testing.TB
	id   string
	dir  string
	file string
	env  []string
	cmd  *exec.Cmd
	over <-chan struct{}
	life *proctest.Process

	mu  sync.Mutex
	log []map[string]any

	program string // runs instead of conch; may be empty

	kept io.Writer // gets the lines of a node that runs for long, and the log has none; may be nil
}

// write writes the node's configuration, with DIR replaced by its folder.
func (d *daemon) write(text string) {
	d.t.Helper()
	text = strings.ReplaceAll(text, "DIR", d.dir)
	if err := os.WriteFile(d.file, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// prepareDaemon makes a node's folder and file. The API is off unless asked for.
func prepareDaemon(t testing.TB, id, url, more string) *daemon {
	t.Helper()
	d := &daemon{t: t, id: id, dir: t.TempDir()}
	d.file = filepath.Join(d.dir, "conch.toml")
	d.write(fileOf(url, more))
	return d
}

// fileOf returns a configuration that ends in [node], so that more may begin with its keys.
func fileOf(url, more string) string {
	text := "database.url = \"" + url + "\"\n[node]\ndata_dir = \"data\"\n"
	if !strings.Contains(more, "listen =") {
		text += "listen = \"off\"\n"
	}
	return text + more
}

func (d *daemon) start(args ...string) *daemon {
	d.t.Helper()
	return d.launch("node", append([]string{"--config", d.file}, args...)...)
}

// launch starts a command that campaigns.
func (d *daemon) launch(command string, args ...string) *daemon {
	d.t.Helper()
	d.cmd = prepared(d.t, append([]string{command, "--id", d.id, "--log-format", "json"}, args...)...)
	d.cmd.Path = cmp.Or(d.program, d.cmd.Path)
	d.cmd.Env = append(d.cmd.Env, d.env...)
	d.cmd.Stderr = proctest.Cut(d.hear)
	d.cmd.Stdout = d.cmd.Stderr // of the roles' commands
	d.t.Cleanup(func() {        // registered before the start, so it runs after the end
		if d.t.Failed() && d.kept == nil {
			d.t.Logf("log of %s:\n%s", d.id, d.text())
		}
	})
	d.life = proctest.Start(d.t, d.cmd)
	d.over = d.life.Gone()
	return d
}

func (d *daemon) hear(text string) {
	if d.kept != nil {
		_, _ = fmt.Fprintln(d.kept, text) // what is lost of it is no matter of a test
		return
	}
	line := map[string]any{}
	if json.Unmarshal([]byte(text), &line) != nil {
		line["msg"] = text
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, line)
}

func startDaemon(t testing.TB, id, url, more string) *daemon {
	t.Helper()
	d := prepareDaemon(t, id, url, more).start()
	d.says("node started")
	return d
}

func (d *daemon) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var b strings.Builder
	for _, line := range d.log {
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// count returns how many lines of the log have the message and all pairs.
func (d *daemon) count(msg string, pairs ...any) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, line := range d.log {
		said, _ := line["msg"].(string)
		ok := strings.Contains(said, msg)
		for i := 0; i+1 < len(pairs); i += 2 {
			ok = ok && line[pairs[i].(string)] == pairs[i+1]
		}
		if ok {
			n++
		}
	}
	return n
}

// says waits for such a line.
func (d *daemon) says(msg string, pairs ...any) {
	d.t.Helper()
	pgtest.Eventually(d.t, patience, fmt.Sprintf("%s says %q %v", d.id, msg, pairs), func() bool { return d.count(msg, pairs...) > 0 })
}

// stop asks the node to end, waits, and returns its exit code.
func (d *daemon) stop(sig syscall.Signal) int {
	d.t.Helper()
	d.life.Signal(sig)
	return d.life.Wait(longPatience)
}

// value returns the value of a key in the last line with a message.
func (d *daemon) value(msg, key string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := ""
	for _, line := range d.log {
		if said, _ := line["msg"].(string); said == msg {
			found, _ = line[key].(string)
		}
	}
	return found
}

// told is one call of start or stop.
type told struct {
	Verb  string
	At    fence.Instant // of arrival
	Done  fence.Instant // of the answer
	Scope string
	Epoch int64
	Term  string
	ID    string
}

// coworker is the other program of http roles. It records the calls.
type coworker struct {
	*httptest.Server
	mu    sync.Mutex
	calls []told
	// If set, stopping runs before the answer to a stop, failing says whether to refuse a start,
	// and refusing whether to refuse a stop.
	stopping func(told)
	failing  func(told) bool
	refusing func(told) bool
}

func newCoworker(t testing.TB) *coworker {
	w := &coworker{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		c := told{At: fence.Boottime(), Verb: strings.TrimPrefix(r.URL.Path, "/lead/")}
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil || r.Method != http.MethodPost ||
			r.Header.Get("Conch-Epoch") != fmt.Sprint(c.Epoch) || r.Header.Get("Conch-Term") != c.Term {
			t.Errorf("got a call with error %v, header %v, body %+v; want a POST as documented", err, r.Header, c)
		}
		w.mu.Lock()
		stopping, failing, refusing := w.stopping, w.failing, w.refusing
		w.mu.Unlock()
		if c.Verb == "stop" && stopping != nil {
			stopping(c)
		}
		if c.Verb == "start" && failing != nil && failing(c) || c.Verb == "stop" && refusing != nil && refusing(c) {
			out.WriteHeader(http.StatusInternalServerError)
			c.Verb = "refused"
		}
		c.Done = fence.Boottime()
		w.mu.Lock()
		w.calls = append(w.calls, c)
		w.mu.Unlock()
	}))
	t.Cleanup(w.Close)
	return w
}

func (w *coworker) seen(verb, scope string) (calls []told) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls {
		if (verb == "" || c.Verb == verb) && (scope == "" || c.Scope == scope) {
			calls = append(calls, c)
		}
	}
	return calls
}

// leader returns the id of the node that sent the last start and no stop since.
func (w *coworker) leader(scope string) string {
	who := ""
	for _, c := range w.seen("", scope) {
		switch {
		case c.Verb == "start":
			who = c.ID
		case c.Verb == "stop" && c.ID == who:
			who = ""
		}
	}
	return who
}

func (w *coworker) wants(t testing.TB, scope, who string) {
	t.Helper()
	pgtest.Eventually(t, patience, fmt.Sprintf("%q works on %s", who, scope), func() bool { return w.leader(scope) == who })
}

// role returns a role with a lease that a busy machine can keep.
func (w *coworker) role(name, more string) string {
	return fmt.Sprintf("[[roles]]\nname = %q\nhttp = \"%s/lead\"\nlease = \"3s\"\n%s\n", name, w.URL, more)
}
