package cli

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

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
