//go:build unix

package main_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

const waitedFor = "0d0fb3a4-7c1e-4bb1-9c6f-2b2f6d0b8f11"

// tells answers every request with a transaction of a fate.
func tells(fate string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"id":%q,"fate":%q}`, waitedFor, fate)
	}
}

// A node that cannot tell a transaction's fate now does not mean that it failed: a script that
// believes so may pay twice. The command goes on waiting.
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
				t.Errorf("stdout is %q, want the fate done", text)
			}
			if strings.Count(r.err, "asked again") != 1 || !strings.Contains(r.err, "this process is ending") {
				t.Errorf("stderr is %q, want one line that says why it asks again", r.err)
			}
		})
	}
}

// A wait ends with a refusal, which a repetition would not change.
func TestAWaitEndsWithARefusal(t *testing.T) {
	t.Parallel()
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"title":"Unknown transaction","detail":"no transaction has this ID"}`, http.StatusNotFound)
	}))
	t.Cleanup(node.Close)
	conch(t, "tx", "show", waitedFor, "--wait", "--node", node.URL).refused(t, 1, "no transaction", waitedFor)
}

// A wait outlives a node that is not up yet, and one that is restarted.
func TestAWaitOutlivesTheNode(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "node") // no other process can take this address meanwhile
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
	lines := make(chan string, 1000)
	cmd.Stderr = proctest.Cut(func(line string) { lines <- line })
	p := proctest.Start(t, cmd)
	says := func(part string) {
		t.Helper()
		for limit := time.After(patience); ; {
			select {
			case line := <-lines:
				if strings.Contains(line, part) {
					return
				}
			case <-limit:
				t.Fatalf("stderr has no line with %q", part)
			}
		}
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
	if code := p.Wait(patience); code != 0 || !strings.Contains(out.String(), "fate     done") {
		t.Errorf("exit code %d, stdout %q; want 0 and the fate done", code, out.String())
	}
}
