package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A path is the prefix of a proxy; what stands behind one cannot be followed by the path of a request.
func TestTheNodeIsAURL(t *testing.T) {
	t.Parallel()
	for node, good := range map[string]bool{
		"http://127.0.0.1:7070":    true,
		"https://a.example/conch/": true,
		"unix:/run/conch.sock":     true,
		"127.0.0.1:7070":           false,
		"ftp://a.example":          false,
		"https://a.example/?x=1":   false,
		"https://a.example/#x":     false,
	} {
		if err := NewClient(node, "").Prepare(func(string) string { return "" }); (err == nil) != good {
			t.Errorf("%s: %v", node, err)
		}
	}
}

// What is sent with a wait is sent until a node answers, under one key, and its sender is told once. Without one it ends at once.
func TestSendsUntilANodeAnswers(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body struct{ Key string }
		if err := json.NewDecoder(req.Body).Decode(&body); err != nil || body.Key != "k" {
			t.Errorf("a node is sent the key %q, want that of the first time", body.Key)
		}
		if n := asked.Add(1); n < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(sent{ID: "7"})
	}))
	defer node.Close()
	c := NewClient(node.URL, "")
	if err := c.Prepare(func(string) string { return "" }); err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	s := &Shell{World: World{Stderr: &told}}
	if id, err := s.Sends(t.Context(), c, false, "/v1/x", "k", map[string]string{"key": "k"}); err == nil {
		t.Errorf("without a wait it answers %q, want the error of the first node", id)
	}
	if id, err := s.Sends(t.Context(), c, true, "/v1/x", "k", map[string]string{"key": "k"}); id != "7" || err != nil || strings.Count(told.String(), "\n") != 1 {
		t.Errorf("got %q and %v, and the sender was told %q", id, err, &told)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	c = NewClient(gone.URL, "")
	if err := c.Prepare(func(string) string { return "" }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sends(t.Context(), c, false, "/v1/x", "k", nil); !Passing(err) {
		t.Errorf("where nothing listens it says %v, want one that may pass", err)
	}
}

// What is said of a node that gives no answer blames what has failed: its name, its process, or the time that it takes.
func TestSilentNodes(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer slow.Close()
	defer close(over)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	ask := func(node string, patience time.Duration) error {
		c := NewClient(node, "")
		if err := c.Prepare(func(string) string { return "" }); err != nil {
			t.Fatal(err)
		}
		c.http.Timeout = patience
		return c.Ask(t.Context(), http.MethodGet, "/v1/nodes", nil, new(any))
	}
	secret := httptest.NewTLSServer(http.NotFoundHandler())
	defer secret.Close()
	peers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close()
		}
	}))
	defer peers.Close()
	unknown := &url.Error{Op: "Get", URL: "http://nohost", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "nohost", IsNotFound: true}}}
	for want, err := range map[string]error{
		"gave no answer in 50ms":         ask(slow.URL, 50*time.Millisecond),
		"no node answers at " + gone.URL: ask(gone.URL, time.Minute),
		"no machine is called nohost":    new(Client).silent(t.Context(), unknown),
		"it ended the connection. If that is the port for its peers, listen in [identity]": ask(peers.URL, time.Minute),
		"certificate signed by unknown authority. If that is the port for its peers":       ask(secret.URL, time.Minute),
		"gave no answer: context deadline":                                                 (&Client{name: "http://n"}).silent(t.Context(), context.DeadlineExceeded),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || !Passing(err) {
			t.Errorf("it says %v, want %q", err, want)
		}
	}
}

// A command that is printed to be repeated has the flags that were typed, as words of a shell.
func TestFlagsToRepeat(t *testing.T) {
	t.Parallel()
	if got, want := NewClient("http://n", `it's {"a"}`).Given(), ` --node 'http://n' --token-file 'it'\''s {"a"}'`; got != want {
		t.Errorf("a shell gets %s, want %s", got, want)
	}
	if got := new(Client).Given(); got != "" {
		t.Errorf("nothing was typed, and a shell gets %s", got)
	}
}

// ran is the outcome of a command line.
type ran struct {
	out, err string
	code     int
}

func execute(args ...string) ran {
	var out, complaint bytes.Buffer
	code := Main(args, World{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &complaint, Getenv: func(string) string { return "" }}, Conch(Build{}, nil))
	return ran{out.String(), complaint.String(), code}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "node.pem")
	made := execute("identity", "new", "--file", file)
	key := regexp.MustCompile(`(?m)^  key = "(sha256:[0-9a-f]{64})"$`).FindStringSubmatch(made.out)
	if made.code != 0 || key == nil || made.err != "" {
		t.Fatalf("new: %+v; want a line for [[peers]]", made)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, error %v; want mode 0600", info, err)
	}
	if shown := execute("identity", "show", "--file", file); shown.out != key[1]+"\n" || shown.code != 0 {
		t.Errorf("show: %+v; want %s", shown, key[1])
	}
	before, _ := os.ReadFile(file)
	again := execute("identity", "new", "--file", file)
	if after, _ := os.ReadFile(file); again.code != Failed || !strings.Contains(again.err, "never overwritten") || !bytes.Equal(before, after) {
		t.Errorf("a second new: %+v; want it refused", again)
	}
	var said struct{ File, Key string }
	if shown := execute("identity", "show", "--file", file, "--json"); json.Unmarshal([]byte(shown.out), &said) != nil || said.Key != key[1] || said.File != file {
		t.Errorf("show --json: %+v", shown)
	}
	if made := execute("identity", "new", "--file", file+"2", "--json"); json.Unmarshal([]byte(made.out), &said) != nil || said.Key == key[1] || said.File != file+"2" {
		t.Errorf("new --json: %+v", made)
	}
}

func TestIdentityRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	open := filepath.Join(folder, "open.pem")
	made := execute("identity", "new", "--file", open)
	if err := os.Chmod(open, 0o644); err != nil || made.code != 0 {
		t.Fatal(err, made)
	}
	for _, c := range []struct {
		args, says string
		code       int
	}{
		{"identity", "new, show", wrong},
		{"identity keygen", `unknown command "keygen"`, wrong},
		{"identity create", "did you mean new?", wrong},
		{"keygen", "did you mean identity?", wrong},
		{"identity new x.pem", "takes no argument", wrong},
		{"identity show --file " + folder + "/none.pem", "conch identity new --file " + folder + "/none.pem", wrong},
		{"identity show --file " + open, "chmod 600 " + open, Failed},
		{"identity show --file " + folder, folder, Failed},
		{"identity new --file " + folder + "/none/x.pem", "no such file or directory", Failed},
	} {
		if r := execute(strings.Fields(c.args)...); r.code != c.code || !strings.Contains(r.err, c.says) || r.out != "" || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%s: %+v; want code %d and a line with %q", c.args, r, c.code, c.says)
		}
	}
	for _, command := range []string{"identity", "identity new", "identity show"} {
		if r := execute(append(strings.Fields(command), "--help")...); r.code != 0 || !strings.Contains(r.out, "Examples:\n  conch identity ") {
			t.Errorf("%s --help: %+v; want an example", command, r)
		}
	}
}
