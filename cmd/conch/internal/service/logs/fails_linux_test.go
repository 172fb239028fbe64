package logs

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// fills has a file's disk be full from now on: its descriptor becomes /dev/full.
func fills(t *testing.T, path string) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err != nil || to != path {
			continue
		}
		n, err := strconv.Atoi(e.Name())
		if err == nil {
			err = syscall.Dup3(int(full.Fd()), n, syscall.O_CLOEXEC)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("%s is not open", path)
}

// sync-first: the disk of one log of a member fails. That log is closed on this node until its next start, and says so; the node goes on, and
// leads its other log. After the next start it is the member that it was.
func TestADiskThatFailsEndsOneLog(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3")
	for _, n := range s.nodes {
		n.more = "[[logs]]\nnamespace = \"routes\"\n"
	}
	s.start(s.names...)
	n := s.nodes["n1"]
	n.create("n1", "n2", "n3")
	gets[Created](n, http.MethodPost, "/v1/logs", `{"namespace":"routes","members":["n1"],"lease_ms":500}`)
	put := func(n *testNode, log, key string) {
		t.Helper()
		gets[Outcome](n, http.MethodPost, "/v1/logs/"+log+"/goals", fmt.Sprintf(`{"goal":{"op":"put","key":%q,"value":1}}`, key))
	}
	put(n, "flags", "a")
	put(n, "routes", "a")
	s.equal(s.names...)
	before := n.status()
	fills(t, filepath.Join(n.dir, "logs", "flags.log"))
	put(s.nodes["n2"], "flags", "b")
	put(s.nodes["n2"], "flags", "c")
	pgtest.Eventually(t, nodetest.Patience, "the log is closed", func() bool { return n.status().State == stateFailed })
	now := n.status()
	if !strings.Contains(now.Why, "the disk is full") || !strings.Contains(now.Why, "no space left on device") || !strings.Contains(now.Advice, "start this node again") || now.Decides {
		t.Errorf("its status is %+v", now)
	}
	if code, text := n.asks(http.MethodPost, "/v1/logs/flags/goals?wait=0", `{"goal":{"op":"put","key":"d","value":1}}`); code != http.StatusServiceUnavailable {
		t.Errorf("it takes a goal: %d %s", code, text)
	}
	if failed := n.metric("store_failed"); failed != 1 {
		t.Errorf("the metric says that %v logs have failed", failed)
	}
	put(n, "routes", "b")
	put(s.nodes["n3"], "flags", "e")
	pgtest.Eventually(t, 4*nodetest.Patience, "gossip is told", func() bool { return strings.Contains(n.withdrawn(), "the disk is full") })
	flags := n.svc.Parts()[0]
	g, _ := flags.began()
	for what, use := range map[string]func() (uint64, error){
		"asked to draw one": func() (uint64, error) { return flags.drawStore(t.Context()) }, "asked which one it has": func() (uint64, error) { return flags.storeOf(g.ID()) },
	} {
		if _, err := use(); err == nil || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("%s, it says %v", what, err)
		}
	}
	if again := n.status(); again.State != stateFailed || flags.reading() != nil { // by now it would have been opened twice
		t.Errorf("it is used again: %+v", again)
	}
	n.logged.Says(t, "the disk is full", "its next start")
	n.stop()
	n.start()
	s.equal(s.names...)
	if now := n.status(); !now.Decides || now.Store != before.Store || n.metric("store_failed") != 0 {
		t.Errorf("after its next start it is %+v", now)
	}
}
