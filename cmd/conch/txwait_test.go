//go:build unix

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
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

// interrupted runs a command, and ends it with SIGTERM once after is closed.
func interrupted(t *testing.T, cmd *exec.Cmd, after <-chan struct{}) result {
	t.Helper()
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	p := proctest.Start(t, cmd)
	happens(t, "the node is asked", after)
	p.Signal(syscall.SIGTERM)
	code := p.Wait(patience)
	return result{out: out.String(), err: err.String(), code: code}
}

// A send whose answer is lost may have been accepted. The command names the key it made up, so
// that the user can repeat the send without paying twice.
func TestASendWithoutAnAnswerNamesItsKey(t *testing.T) {
	t.Parallel()
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, c := range []struct {
		name      string
		interrupt bool
		answer    http.HandlerFunc
	}{
		{"interrupted before the answer", true, hangs},
		{"interrupted within the answer", true, func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"id":`))
			_ = http.NewResponseController(w).Flush()
			hangs(w, r)
		}},
		{"the line breaks", false, func(w http.ResponseWriter, _ *http.Request) {
			if line, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = line.Close()
			}
		}},
		{"a commit that nobody saw end", false, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusGatewayTimeout)
			_, _ = w.Write([]byte(`{"title":"The database did not answer","detail":"the database did not answer in time"}`))
		}},
		{"something that is no node", false, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"status":"ok"}`))
		}},
		{"a proxy lost the node", false, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>", http.StatusBadGateway)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var key string
			asked := make(chan struct{})
			node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var sent struct {
					Key string `json:"idempotency_key"`
				}
				_ = json.NewDecoder(r.Body).Decode(&sent)
				key = sent.Key
				close(asked)
				c.answer(w, r)
			}))
			t.Cleanup(node.Close)
			cmd := prepared(t, "tx", "send", "--node", node.URL, "--account", "payer", "--to", nobodysAddress, "--value", "1000")
			var r result
			if c.interrupt {
				r = interrupted(t, cmd, asked)
			} else {
				r = call(t, cmd)
			}
			happens(t, "the node is asked", asked)
			if !strings.HasPrefix(key, "cli-") {
				t.Fatalf("the request has the key %q, want one that begins with cli-", key)
			}
			r.refused(t, 1, "may have been accepted", "--key "+key)
		})
	}
}

// A send does not follow a redirect: that would become a GET, which every node answers, and the
// command would report a transaction that was never requested.
func TestASendIsNotRedirected(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.URL.Path == "/v1/transactions" {
				http.Redirect(w, r, "http://"+r.Host+"/elsewhere?secret", code)
				return
			}
			t.Errorf("after a redirect with %d the command sent %s %s, want no further request", code, r.Method, r.URL.Path)
			_, _ = w.Write([]byte(`{"transactions":[]}`))
		}))
		t.Cleanup(node.Close)
		cmd := prepared(t, "tx", "send", "--node", node.URL, "--account", "payer", "--to", nobodysAddress)
		r := call(t, cmd)
		r.refused(t, 1, "redirects to "+node.URL)
		if strings.Contains(r.err, "secret") {
			t.Errorf("stderr %s contains the query of the redirect", r.err)
		}
	}
}

// A command that is interrupted while it waits names the transaction.
func TestAnInterruptedWaitNamesItsTransaction(t *testing.T) {
	t.Parallel()
	const id = "0d0fb3a4-7c1e-4bb1-9c6f-2b2f6d0b8f11"
	asked := make(chan struct{})
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			_, _ = w.Write([]byte(`{"id":"` + id + `"}`))
			return
		}
		close(asked)
		<-r.Context().Done()
	}))
	t.Cleanup(node.Close)
	cmd := prepared(t, "tx", "send", "--node", node.URL, "--account", "payer", "--to", nobodysAddress, "--wait")
	interrupted(t, cmd, asked).refused(t, 1, "interrupted", id)
}
