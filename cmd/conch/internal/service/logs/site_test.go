package logs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/memory"
	"github.com/conchhq/conch/transport/mtls"
)

// overlaid is [gossip], as far as this service looks at it.
type overlaid struct {
	config.Section
	there bool
}

func (o *overlaid) Everywhere() bool { return o.there }

func (o *overlaid) Keys(d *config.Decoder) map[string]config.Setter {
	return map[string]config.Setter{"gossip": func(place string, v any) {
		o.there = true
		d.Table(place, v, nil)
	}}
}

// sections are those of a configuration.
func sections() []func() config.Section {
	gossip := func() config.Section { return &overlaid{Section: configtest.Plain("gossip")} }
	return configtest.Beside(peers.Kind().Section, gossip, Kind().Section)
}

func load(t testing.TB, text string) (*Section, config.Config, error) {
	t.Helper()
	c, err := configtest.Load(t, text, config.Source{Sections: sections()}, nil)
	return config.Of[*Section](c), c, err
}

// site is nodes that know each other, in one process, on a network in memory.
type site struct {
	t     testing.TB
	net   *memory.Network
	names []string
	nodes map[string]*testNode
	guest string // one of them that the others do not have in their [[peers]]
}

// testNode is one of them, with its folder, over several starts.
type testNode struct {
	*site
	name, dir string
	more      string // of [[logs]]
	logged    *nodetest.Log
	svc       *service
	ground    atomic.Pointer[node.Ground] // others tell it something while it starts
	place     *place
	end       context.CancelFunc
	busy      *sync.WaitGroup
	api       http.Handler
	web       *httptest.Server
}

// place is a node in the network; what it publishes everybody hears.
type place struct {
	*memory.Endpoint
	node *testNode

	mu        sync.Mutex
	withdrawn error
}

func (p *place) Withdraw(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.withdrawn = why
}

func (n *testNode) withdrawn() string {
	n.place.mu.Lock()
	defer n.place.mu.Unlock()
	return fmt.Sprint(n.place.withdrawn)
}

func (p *place) Open(subject string) (transport.Line, error) { return p.Endpoint.Open(subject) }
func (*place) Keep(map[string]string)                        {}

func (p *place) Publish(topic string, body []byte) error {
	for _, name := range p.Peers() {
		if to := p.node.nodes[name]; to != nil {
			go to.ground.Load().Tell(node.News{Topic: topic, Body: slices.Clone(body), Via: p.node.name})
		}
	}
	return nil
}

func newSite(t testing.TB, names ...string) *site {
	s := &site{t: t, net: memory.New(25), names: names, nodes: map[string]*testNode{}}
	for _, name := range names {
		n := &testNode{site: s, name: name, dir: t.TempDir()}
		n.ground.Store(new(node.Ground))
		if _, err := mtls.CreateIdentity(filepath.Join(n.dir, "key")); err != nil {
			t.Fatal(err)
		}
		s.nodes[name] = n
	}
	t.Cleanup(func() {
		for _, n := range s.nodes {
			n.stop()
		}
	})
	return s
}

// newLog starts nodes that are the members of a log with one entry, which all of them have.
func newLog(t testing.TB, names ...string) *site {
	s := newSite(t, names...)
	s.start(names...)
	s.nodes[names[0]].create(names...)
	s.nodes[names[0]].put("a", 1)
	s.equal(names...)
	return s
}

// text is the configuration of a node.
func (n *testNode) text() string {
	text := fmt.Sprintf("[node]\ndata_dir = %q\n[identity]\nname = %q\nlisten = \"127.0.0.1:0\"\nkey = %q\n[gossip]\n[[logs]]\nnamespace = \"flags\"\n%s", n.dir, n.name, filepath.Join(n.dir, "key"), n.more)
	for _, other := range n.names {
		if other != n.name && other != n.guest {
			text += fmt.Sprintf("[[peers]]\nname = %q\nurl = \"https://127.0.0.1:1\"\nca = \"ca.pem\"\n", other)
		}
	}
	return text
}

func (n *testNode) start() *testNode {
	n.t.Helper()
	_, c, err := load(n.t, n.text())
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.end, n.busy, n.logged = cancel, new(sync.WaitGroup), &nodetest.Log{}
	board := web.NewBoard()
	ground := new(node.Ground)
	n.ground.Store(ground)
	n.svc = open(node.Frame{
		Log: slog.New(slog.NewTextHandler(n.logged, nil)), Board: board, Over: ctx, Go: n.busy.Go, Ground: ground,
	}).(*service)
	apply, err := n.svc.Prepare(n.t.Context(), c)
	if err != nil {
		n.t.Fatal(err)
	}
	n.place = &place{Endpoint: n.net.Join(n.name), node: n}
	ground.Join(n.place)
	apply()
	n.api = webtest.Site(n.t, &webtest.Log{}, n.svc.Routes(), func(c *web.Config) {
		c.Board, c.KeepAlive = board, 100*time.Millisecond
		c.Board.Offer(kindEntry, (&api{shelf: n.svc}).selects)
	}).API()
	n.web = httptest.NewServer(n.api)
	return n
}

func (n *testNode) stop() {
	if n.web == nil {
		return
	}
	n.net.Kill(n.name)
	n.web.CloseClientConnections()
	n.web.Close()
	n.end()
	n.svc.Close()
	pgtest.Within(n.t, nodetest.Patience, n.name+" ends", n.busy.Wait)
	n.web = nil
	if n.t.Failed() {
		n.t.Logf("log of %s:\n%s", n.name, strings.Join(n.logged.Lines(), "\n"))
	}
}

// stop ends some nodes.
func (s *site) stop(names ...string) {
	for _, name := range names {
		s.nodes[name].stop()
	}
}

func (s *site) start(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.nodes[name].start()
	}
}

// asks sends a request, and returns the answer.
func (n *testNode) asks(method, path, body string) (code int, text string) {
	n.t.Helper()
	r, err := http.NewRequestWithContext(n.t.Context(), method, n.web.URL+path, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := n.web.Client().Do(r)
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return answer.StatusCode, string(all)
}

// gets is asks for what has to succeed, decoded.
func gets[T any](n *testNode, method, path, body string) (out T) {
	n.t.Helper()
	code, text := n.asks(method, path, body)
	if code >= 300 {
		n.t.Fatalf("%s: %s %s: %d %s", n.name, method, path, code, text)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		n.t.Fatalf("%s: %s: %v", n.name, text, err)
	}
	return out
}

func (n *testNode) status() Status { return gets[Status](n, http.MethodGet, "/v1/logs/flags", "") }

// create makes the log.
func (n *testNode) create(members ...string) Created {
	n.t.Helper()
	body, err := json.Marshal(creation{Namespace: "flags", Members: members, LeaseMS: 500})
	if err != nil {
		n.t.Fatal(err)
	}
	return gets[Created](n, http.MethodPost, "/v1/logs", string(body))
}

// put sets a key, and returns what came of it.
func (n *testNode) put(key string, value int) Outcome {
	n.t.Helper()
	return gets[Outcome](n, http.MethodPost, "/v1/logs/flags/goals", fmt.Sprintf(`{"goal":{"op":"put","key":%q,"value":%d}}`, key, value))
}

// equal waits until these nodes have the same entries.
func (s *site) equal(names ...string) {
	s.t.Helper()
	var at Place
	pgtest.Eventually(s.t, nodetest.Patience, "all have the same", func() bool {
		for i, name := range names {
			p := s.nodes[name].status().Position
			if p == nil || i > 0 && *p != at {
				return false
			}
			at = *p
		}
		return true
	})
}
