package gossip

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/transport/mtls"
)

// hosted is a service as a node has it.
type hosted struct {
	*service
	log  *nodetest.Log
	end  context.CancelFunc
	busy sync.WaitGroup
}

func host(t *testing.T) *hosted {
	t.Helper()
	h := &hosted{log: &nodetest.Log{}}
	ctx, cancel := context.WithCancel(t.Context())
	h.end = cancel
	h.service = open(node.Frame{
		Log: slog.New(slog.NewTextHandler(h.log, nil)), Board: web.NewBoard(), Over: ctx, Go: h.busy.Go, Ground: new(node.Ground),
	}).(*service)
	t.Cleanup(func() {
		cancel()
		h.Close()
		pgtest.Within(t, nodetest.Patience, "the service ends", h.busy.Wait)
	})
	return h
}

// start prepares a service for a configuration, and begins.
func (h *hosted) start(t *testing.T, c config.Config) {
	t.Helper()
	apply, err := h.Prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	apply()
}

// site makes the configurations of so many nodes that know each other, and listen where they say.
func site(t *testing.T, nodes int, more ...string) (all []config.Config, fronts []net.Listener) {
	t.Helper()
	dir := t.TempDir()
	var keys []string
	for i := range nodes {
		id, err := mtls.CreateIdentity(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		keys, fronts = append(keys, id.Fingerprint().String()), append(fronts, ln)
	}
	for i := range nodes {
		text := fmt.Sprintf("[identity]\nname = \"n%d\"\nlisten = %q\nkey = %q\n[gossip]\nround = \"50ms\"\n", i, fronts[i].Addr(), filepath.Join(dir, fmt.Sprint(i)))
		for j := range nodes {
			if i != j {
				text += fmt.Sprintf("[[peers]]\nname = \"n%d\"\nurl = \"https://%s\"\nkey = %q\n", j, fronts[j].Addr(), keys[j])
			}
		}
		_, c, err := load(t, text+strings.Join(more, ""))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all, fronts
}

// leader returns whom a service suggests; empty if nobody.
func (h *hosted) leader() string {
	now, _ := h.Member()
	if now == nil {
		return ""
	}
	return now.Status().Hints[0].Leader.Name
}

// A listener that cannot be opened at the start is a fault of the start. One that fails later is opened again, and the
// rest of the node goes on meanwhile.
func TestAListenerThatFails(t *testing.T) {
	t.Parallel()
	all, fronts := site(t, 2)
	h := host(t)
	if _, err := h.Prepare(t.Context(), all[0]); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a listener that is taken: %v, want an error", err)
	}
	h.section, h.prepared, h.kept = *config.Of[*Section](all[0]), true, true
	h.busy.Go(func() {
		defer close(h.over)
		h.takePart(nil) // as after a failure
	})
	h.log.Says(t, "the overlay cannot be joined", "in use")
	if logs := strings.Join(h.log.Lines(), "\n"); strings.Contains(logs, "error=<nil>") || strings.Contains(logs, "has left the overlay") {
		t.Errorf("it has left what it had not joined:\n%s", logs)
	}
	if now, there := h.Member(); now != nil || !there {
		t.Errorf("it is in the overlay: %v, %t", now, there)
	}
	for _, f := range fronts {
		_ = f.Close()
	}
	pgtest.Eventually(t, nodetest.Patience, "it is in the overlay", func() bool { now, _ := h.Member(); return now != nil })
	other := host(t)
	other.start(t, all[1])
	pgtest.Eventually(t, nodetest.Patience, "both name one leader", func() bool { return h.leader() != "" && h.leader() == other.leader() })
}

// A reload takes peers that are new and drops those that are gone; what it cannot change stays.
func TestReload(t *testing.T) {
	t.Parallel()
	all, fronts := site(t, 2)
	for _, f := range fronts {
		_ = f.Close()
	}
	with := *config.Of[*Section](all[0])
	without := with
	without.peers.Peers = nil
	without.peers.Identity.CA = "" // nobody may join
	a, b := host(t), host(t)
	a.start(t, config.Config{Sections: []config.Section{&without}})
	b.start(t, all[1])
	pgtest.Eventually(t, nodetest.Patience, "the other one is a stranger", func() bool {
		now, _ := a.Member()
		return now.Strangers()[mtls.UnknownKey] > 0
	})
	a.start(t, all[0])
	pgtest.Eventually(t, nodetest.Patience, "both name one leader", func() bool { return a.leader() != "" && a.leader() == b.leader() })
	other := filepath.Join(t.TempDir(), "other.pem")
	if _, err := mtls.CreateIdentity(other); err != nil {
		t.Fatal(err)
	}
	a.section.peers.Identity.Key = other // as if the file had another key now
	if _, err := a.Prepare(t.Context(), all[0]); err == nil || !strings.Contains(err.Error(), "restart the node") {
		t.Errorf("another key: %v, want an error that says what to do", err)
	}
}

// A service that was prepared and never begun lets its listener go, and one without [gossip] does nothing.
func TestAStartThatIsGivenUp(t *testing.T) {
	t.Parallel()
	all, fronts := site(t, 2)
	_ = fronts[0].Close()
	for range 2 {
		h := host(t)
		if _, err := h.Prepare(t.Context(), all[0]); err != nil {
			t.Fatal(err)
		}
		h.Close()
	}
	h := host(t)
	h.start(t, config.Config{Sections: []config.Section{new(Section)}})
	if now, there := h.Member(); now != nil || there {
		t.Errorf("without [gossip] it is in an overlay: %v, %t", now, there)
	}
	h.start(t, all[0]) // a reload cannot begin it
	if _, there := h.Member(); there {
		t.Error("a reload has begun an overlay")
	}
}

// A node that ends lets nobody in any more while it says goodbye: one that came after that would get none.
func TestTheDoorClosesBeforeTheGoodbye(t *testing.T) {
	t.Parallel()
	for range 5 { // it takes part for two rounds more, and a machine that is busy may be too slow to see it
		all, fronts := site(t, 2)
		for _, f := range fronts {
			_ = f.Close()
		}
		h := host(t)
		h.start(t, all[0])
		now, _ := h.Member()
		h.end()
		pgtest.Eventually(t, nodetest.Patience, "nobody listens", func() bool {
			link, err := new(net.Dialer).DialContext(t.Context(), "tcp", fronts[0].Addr().String())
			if err == nil {
				_ = link.Close()
			}
			return err != nil
		})
		if now.Publish(defaultNamespace, "still", nil) == nil {
			return
		}
	}
	t.Error("the door is open until the node takes part no more")
}

// A program that tells news under as many topics as it may leaves room for the heads of this node's logs.
func TestALocalProgramLeavesRoomForHeads(t *testing.T) {
	t.Parallel()
	all, fronts := site(t, 2, "[[logs]]\n[[logs]]\n")
	for _, f := range fronts {
		_ = f.Close()
	}
	h := host(t)
	h.start(t, all[0])
	now, _ := h.Member()
	pgtest.Eventually(t, nodetest.Patience, "the node takes part", func() bool { return now.Publish(defaultNamespace, "0", nil) == nil })
	handler := webtest.Site(t, &webtest.Log{}, h.Routes(), func(c *web.Config) { c.Board = web.NewBoard() }).API()
	codes := map[int]int{}
	for i := range 2 * gossip.MostTopics {
		out := httptest.NewRecorder()
		x := exchange{Ask: fmt.Sprintf("PUT /v1/nodes/default/news/%d", i), Body: "x", Header: "Content-Type: application/octet-stream"}
		handler.ServeHTTP(out, x.Request())
		codes[out.Code]++
	}
	if codes[http.StatusAccepted] != gossip.MostTopics-2 || codes[http.StatusConflict] != gossip.MostTopics+2 {
		t.Errorf("a program's news is answered %v", codes)
	}
	for i := range 3 {
		if err := now.Publish(defaultNamespace, fmt.Sprint(node.LogTopics, i), []byte("head")); (err == nil) != (i < 2) {
			t.Errorf("the heads of log %d: %v", i, err)
		}
	}
}

// between calls something when a logger is made for a peer, which is in the middle of a start.
type between struct {
	slog.Handler
	call func()
}

func (b between) WithAttrs(a []slog.Attr) slog.Handler { b.call(); return b.Handler.WithAttrs(a) }

// A reload that comes while the listener is opened again counts: a peer that it takes away does not come in.
func TestAReloadWhileTheListenerIsOpened(t *testing.T) {
	t.Parallel()
	all, fronts := site(t, 2)
	_ = fronts[0].Close()
	h := host(t)
	h.section, h.prepared = *config.Of[*Section](all[0]), true
	without := h.section
	without.peers.Peers = nil
	reloaded := make(chan struct{})
	begin := sync.OnceFunc(func() {
		if h.mu.TryLock() { // a reload would go on, and find no listener
			h.mu.Unlock()
			t.Error("a reload does not wait for the start")
		}
		go func() { defer close(reloaded); h.reload(without) }()
	})
	h.frame.Log = slog.New(between{slog.DiscardHandler, begin})
	m, err := h.rejoin()
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Within(t, nodetest.Patience, "the reload ends", func() { <-reloaded })
	if peers := m.endpoint.Stats().Peers; len(peers) > 0 {
		t.Errorf("after the reload it knows %v, want nobody", peers)
	}
}

// Somebody with the name of a peer, and a key that is not the one written down, is counted among those that may not join.
func TestAWrongKeyIsCounted(t *testing.T) {
	t.Parallel()
	all, fronts := site(t, 2)
	for _, f := range fronts {
		_ = f.Close()
	}
	h := host(t)
	h.start(t, all[0])
	link, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{showing(t, "n1")}}}).DialContext(t.Context(), "tcp", fronts[0].Addr().String())
	if err == nil { // the server judges after the client has finished
		_, err = link.Read(make([]byte, 1))
		_ = link.Close()
	}
	if err == nil {
		t.Error("it is let in")
	}
	pgtest.Eventually(t, nodetest.Patience, "it is counted", func() bool {
		now, _ := h.Member()
		return now.Strangers()[mtls.WrongKey] == 1
	})
}

// showing returns a certificate of a new key, with a name.
func showing(t *testing.T, name string) tls.Certificate {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(nil, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
}
