package chunksync

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
)

// patience is the time limit of each wait. It is long, since the machine may be busy.
const patience = time.Minute

// node is one node of a team, with a real disk and real connections.
type node struct {
	t     *testing.T
	id    string
	dir   string
	store *Store
	m     *Manager
	url   string
	team  *team
	// block, while set, sees each request first. Tests cut or slow connections with it.
	block  atomic.Pointer[func(w http.ResponseWriter, r *http.Request) (handled bool)]
	chunks atomic.Int64 // requests to store a chunk that reached the handler
	server atomic.Pointer[http.Handler]
}

// team is a set of nodes that are each other's peers.
type team struct {
	t       *testing.T
	nodes   []*node
	copies  *int
	longest time.Duration // Config.Longest
}

func newTeam(t *testing.T, size int, copies *int) *team {
	t.Helper()
	return newPatientTeam(t, size, copies, 5*time.Second)
}

func newPatientTeam(t *testing.T, size int, copies *int, longest time.Duration) *team {
	t.Helper()
	tm := &team{t: t, copies: copies, longest: longest}
	for i := range size {
		n := &node{t: t, id: fmt.Sprintf("n%d", i+1), dir: t.TempDir(), team: tm}
		s := httptest.NewServer(http.HandlerFunc(n.serve))
		t.Cleanup(s.Close)
		n.url = s.URL
		tm.nodes = append(tm.nodes, n)
	}
	for _, n := range tm.nodes {
		n.start()
		t.Cleanup(func() { _ = n.store.Close() })
	}
	return tm
}

func (n *node) serve(w http.ResponseWriter, r *http.Request) {
	if block := n.block.Load(); block != nil && (*block)(w, r) {
		return
	}
	if r.Method == http.MethodPut {
		n.chunks.Add(1)
	}
	(*n.server.Load()).ServeHTTP(w, r)
}

// start opens the folder and makes a manager, as a new process does.
func (n *node) start() {
	n.t.Helper()
	var err error
	if n.store, err = Open(n.dir); err != nil {
		n.t.Fatal(err)
	}
	n.m, err = New(n.config())
	if err != nil {
		n.t.Fatal(err)
	}
	h := n.m.Handler()
	n.server.Store(&h)
}

func (n *node) config() Config {
	peers := map[string]string{}
	for _, other := range n.team.nodes {
		if other != n {
			peers[other.id] = other.url
		}
	}
	return Config{
		ID: n.id, Scope: "s", Store: n.store, Peers: peers, Copies: n.team.copies, Token: "secret",
		Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		Grace:  300 * time.Millisecond, Repair: 50 * time.Millisecond, RetryMin: 5 * time.Millisecond, RetryMax: 50 * time.Millisecond,
		Longest: n.team.longest,
	}
}

// leadership is one whose gate never shuts: the worst that clocks can do.
type leadership struct {
	t    *testing.T
	stop context.CancelCauseFunc
	over chan struct{}
	err  error
}

func tokenOf(epoch int64, holder string) fence.Token {
	return fence.Token{Scope: "s", Holder: holder, Epoch: epoch, Term: fence.Term{byte(epoch)}}
}

func (n *node) lead(epoch int64) *leadership {
	n.t.Helper()
	gate, latch := fence.New("s", nil)
	token := tokenOf(epoch, n.id)
	latch.Open(token, 0, math.MaxInt64)
	ctx, stop := context.WithCancelCause(n.t.Context())
	l := &leadership{t: n.t, stop: stop, over: make(chan struct{})}
	go func() {
		defer close(l.over)
		l.err = n.m.Lead(ctx, gate, token)
	}()
	n.t.Cleanup(func() { _ = l.end() })
	return l
}

var errEnough = errors.New("enough")

func (l *leadership) end() error {
	l.stop(errEnough)
	l.ends(l.t)
	return l.err
}

func (l *leadership) ends(t *testing.T) {
	t.Helper()
	ends(t, l.over)
}

// ends waits until a leadership has ended.
func ends(t *testing.T, over <-chan struct{}) {
	t.Helper()
	eventually(t, "the leadership ends", func() bool {
		select {
		case <-over:
			return true
		default:
			return false
		}
	})
}

func (n *node) put(name string, content []byte, copies int) error {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	_, err := n.m.Put(ctx, name, bytes.NewReader(content), copies)
	return err
}

func (n *node) mustPut(name string, content []byte, copies int) {
	n.t.Helper()
	n.until("it has begun to lead", func() bool { return n.m.lead.Load() != nil })
	if err := n.put(name, content, copies); err != nil {
		n.t.Fatalf("%s: put %s: %v", n.id, name, err)
	}
}

func (n *node) content(name string) ([]byte, error) {
	c, err := n.m.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	return io.ReadAll(c)
}

func (n *node) has(name string, want []byte) bool {
	got, err := n.content(name)
	return err == nil && bytes.Equal(got, want)
}

func (n *node) until(what string, so func() bool) { eventually(n.t, n.id+": "+what, so) }

// eventually waits for a condition and fails the test after patience.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for !so() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// cut makes the node unreachable until heal is called.
func (n *node) cut() (heal func()) {
	block := func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusBadGateway)
		return true
	}
	n.block.Store(&block)
	return func() { n.block.Store(nil) }
}

// bytesOf returns size bytes that depend on the seed alone.
func bytesOf(seed uint64, size int) []byte {
	rng := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	out := make([]byte, size)
	_, _ = rng.Read(out)
	return out
}

func isHex(h string) bool { return len(h) == 64 && strings.Trim(h, "0123456789abcdef") == "" }

// forgetful drops the traffic of all connections made before a moment without an error, as
// a restarted firewall does. New connections work.
type forgetful struct {
	net.Listener
	moment atomic.Int64
}

func (f *forgetful) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	return &forgotten{Conn: c, line: f, since: f.moment.Load()}, err
}

type forgotten struct {
	net.Conn
	line  *forgetful
	since int64
}

func (c *forgotten) lost() bool { return c.line.moment.Load() > c.since }

func (c *forgotten) Read(to []byte) (int, error) {
	for {
		n, err := c.Conn.Read(to)
		if err != nil || !c.lost() {
			return n, err
		}
	}
}

func (c *forgotten) Write(from []byte) (int, error) {
	if c.lost() {
		return len(from), nil
	}
	return c.Conn.Write(from)
}

// A silent connection is given up, also over HTTP/2, where requests share a connection and a
// failed one leaves it open.
func TestASilentLineIsGivenUp(t *testing.T) {
	t.Parallel()
	var protocol atomic.Value
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocol.Store(r.Proto)
		answer(w, "application/json", http.StatusOK, heldAnswer{ID: "b"})
	}))
	line := &forgetful{Listener: s.Listener}
	s.Listener, s.EnableHTTP2 = line, true
	s.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	// A busy machine may need Longest for a handshake.
	cfg := Config{ID: "a", Peers: map[string]string{"b": s.URL}, Longest: time.Second, Roots: roots}.withDefaults()
	t.Cleanup(func() {
		cfg.Client.CloseIdleConnections()
		s.CloseClientConnections()
		s.Close()
	})
	c := client{cfg: cfg}
	works := func() bool {
		_, _, err := c.promise(t.Context(), "b")
		return err == nil
	}
	eventually(t, "the connection works", works)
	if protocol.Load() != "HTTP/2.0" {
		t.Fatalf("got protocol %v, want HTTP/2.0: this test is blind", protocol.Load())
	}
	line.moment.Add(1)
	if works() {
		t.Fatal("the old connection still works: this test is blind")
	}
	eventually(t, "a new connection is made", works)
}
