//go:build unix

package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

const waitedFor = "0d0fb3a4-7c1e-4bb1-9c6f-2b2f6d0b8f11"

// tells answers every question about a transaction with its fate.
func tells(fate string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"id":%q,"fate":%q}`, waitedFor, fate)
	}
}

// That nobody can say now what became of a transaction is not that it failed: a script
// that takes it so pays in another way, too.
func TestAWaitOutlivesNodesThatKnowNothing(t *testing.T) {
	t.Parallel()
	for _, status := range []int{500, 502, 503, 504, 429} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) <= 5 {
					http.Error(w, `{"title":"Ending","detail":"this process is ending"}`, status)
					return
				}
				tells("done")(w, r)
			}))
			t.Cleanup(node.Close)
			r := conch(t, "tx", "show", waitedFor, "--wait", "--node", node.URL)
			if text := r.done(t); !strings.Contains(text, "fate     done") {
				t.Errorf("%q", text)
			}
			if strings.Count(r.err, "asked again") != 1 || !strings.Contains(r.err, "this process is ending") {
				t.Errorf("it waits without a word, or with too many: %q", r.err)
			}
		})
	}
}

// What a node refuses it refuses the next time as well.
func TestAWaitEndsWithARefusal(t *testing.T) {
	t.Parallel()
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"title":"Unknown transaction","detail":"no transaction has this ID"}`, http.StatusNotFound)
	}))
	t.Cleanup(node.Close)
	conch(t, "tx", "show", waitedFor, "--wait", "--node", node.URL).refused(t, 1, "no transaction", waitedFor)
}

// A node that is not there yet, and one that is started again.
func TestAWaitOutlivesTheNode(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "node") // an address that nobody else can take in between
	serve := func(fate string) *http.Server {
		t.Helper()
		ln, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		node := &http.Server{Handler: tells(fate)}
		go func() { _ = node.Serve(ln) }()
		t.Cleanup(func() { _ = node.Close() })
		return node
	}
	cmd := prepared(t, "tx", "show", waitedFor, "--wait", "--node", "unix:"+socket)
	var out bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	says := func(part string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), part) {
				return
			}
		}
		t.Fatalf("it ended without saying %q: %v", part, cmd.Wait())
	}
	says("asked again")
	node := serve("queued")
	says("queued")
	if err := node.Close(); err != nil {
		t.Fatal(err)
	}
	says("asked again")
	serve("done")
	says("done")
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "fate     done") {
		t.Errorf("%v: %q", err, out.String())
	}
}
