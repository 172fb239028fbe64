package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/transport/mtls"
	"github.com/conchhq/conch/txlog"
)

// B13 to B15, V7: a log is made once, by one node, and all take goals; members and followers have the same copy. Asked again,
// the node names the same log; another one of that name is refused.
func TestALogIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3", "n4", "n5")
	s.start(s.names...)
	for _, name := range s.names { // each has read its store, in which there is nothing
		pgtest.Eventually(t, nodetest.Patience, name+" waits for a log", func() bool { now := s.nodes[name].status(); return now.State == stateWaiting && now.ID == "" })
	}
	if code, text := s.nodes["n1"].asks(http.MethodGet, "/v1/logs/flags/entries", ""); code != http.StatusServiceUnavailable || !strings.Contains(text, "no-log-yet") {
		t.Errorf("got %d %s", code, text)
	}
	made := s.nodes["n4"].create("n1", "n2", "n3") // n4 is no member itself
	if again := s.nodes["n4"].create("n1", "n2", "n3"); again.ID != made.ID {
		t.Errorf("asked again, the log is %s, and was %s", again.ID, made.ID)
	}
	for _, name := range []string{"n4", "n1"} {
		if code, text := s.nodes[name].asks(http.MethodPost, "/v1/logs", `{"namespace":"flags","members":["n1","n2"]}`); code != http.StatusConflict || !strings.Contains(text, "log-exists") {
			t.Errorf("%s makes another one: %d %s", name, code, text)
		}
	}
	pgtest.Eventually(t, nodetest.Patience, "all have the log", func() bool {
		for _, n := range s.nodes {
			if now := n.status(); now.ID != made.ID || now.State != stateRunning {
				return false
			}
		}
		return true
	})
	if first := gets[Page](s.nodes["n1"], http.MethodGet, "/v1/logs/flags/entries?wait_ms=9000", "").Entries[0]; time.Since(first.At) > time.Hour {
		t.Errorf("the first entry is of %v", first.At)
	}
	for i, name := range s.names {
		if o := s.nodes[name].put(fmt.Sprint("of ", name), i); o.Fault != "" || o.Index == 0 {
			t.Errorf("%s: %+v", name, o)
		}
	}
	s.equal(s.names...)
	executed := 0
	for _, e := range gets[Page](s.nodes["n5"], http.MethodGet, "/v1/logs/flags/entries?limit=1000", "").Entries {
		if e.GoalID == "" {
			continue
		}
		if executed++; !strings.Contains(string(e.Diff), "of n") {
			t.Errorf("entry %d of goal %s is served with the diff %q", e.Index, e.GoalID, e.Diff)
		}
	}
	if executed != len(s.names) {
		t.Errorf("%d goals were executed, want %d", executed, len(s.names))
	}
}

// A member that is away when a log is made: nothing was made, and the answer says who is missing.
func TestNoHalfOfALogIsMade(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3")
	s.start("n1", "n2")
	code, text := s.nodes["n1"].asks(http.MethodPost, "/v1/logs", `{"namespace":"flags","members":["n1","n2","n3"]}`)
	if code != http.StatusServiceUnavailable || !strings.Contains(text, "member-away") || !strings.Contains(text, "n3: it does not answer") || strings.Contains(text, "n2:") {
		t.Errorf("got %d %s", code, text)
	}
	for _, name := range []string{"n1", "n2"} {
		if now := s.nodes[name].status(); now.ID != "" {
			t.Errorf("%s has a log: %+v", name, now)
		}
	}
	s.start("n3")
	s.nodes["n1"].create("n1", "n2", "n3")
	s.nodes["n2"].put("a", 1)
}

// new-disk-new-member: a member whose store is damaged, or gone, begins with another one, keeps the old file, and is admitted again.
func TestAStoreThatIsOfNoUse(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3")
	s.start(s.names...)
	made := s.nodes["n1"].create(s.names...)
	for i := range 20 {
		s.nodes["n1"].put("k", i)
	}
	s.equal(s.names...)
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, file string)
		aside int
	}{
		{"n3", func(t *testing.T, file string) {
			t.Helper()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			goal := []byte(`{"op":"put"`)
			if !bytes.Contains(b, goal) {
				t.Fatal("no goal is in the file")
			}
			if err := os.WriteFile(file, bytes.ReplaceAll(b, goal, []byte(`{"op":"cut"`)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, 1},
		{"n2", func(t *testing.T, file string) {
			t.Helper()
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}, 0},
	} {
		n := s.nodes[c.name]
		before := n.status().Store
		n.stop()
		file := filepath.Join(n.dir, "logs", "flags.log")
		c.spoil(t, file)
		n.start()
		pgtest.Eventually(t, 2*nodetest.Patience, c.name+" is a member again", func() bool {
			now := n.status()
			return now.ID == made.ID && now.Decides && now.Store != before
		})
		kept, err := filepath.Glob(file + ".aside-*")
		if err != nil || len(kept) != c.aside && c.aside == 0 || c.aside > 0 && len(kept) == 0 {
			t.Errorf("%s keeps %q, %v", c.name, kept, err)
		}
		s.nodes["n1"].put("k", 100)
		s.equal(s.names...)
		if set := n.metric("stores_set_aside_total"); set != float64(c.aside) {
			t.Errorf("%s has set %v stores aside, want %d", c.name, set, c.aside)
		}
	}
}

// Two of three disks are lost: nothing is committed any more, and everything can be read. A person begins a new lineage from the one
// copy that is left, and it goes on with its state and its indices.
func TestANewLineage(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3", "n4")
	s.start(s.names...)
	made := s.nodes["n1"].create("n1", "n2", "n3")
	for i := range 10 {
		s.nodes["n2"].put(fmt.Sprint("k", i), i)
	}
	s.equal(s.names...)
	before := s.nodes["n1"].status().Position.Index
	for _, n := range s.nodes {
		n.stop()
	}
	logOf := func(name string) *Log {
		return &Log{Namespace: "flags", Store: filepath.Join(s.nodes[name].dir, "logs", "flags.log")}
	}
	for _, name := range []string{"n2", "n3"} {
		if err := os.Remove(logOf(name).Store); err != nil {
			t.Fatal(err)
		}
	}
	s.start(s.names...)
	for _, name := range []string{"n1", "n2", "n3"} {
		n := s.nodes[name]
		pgtest.Eventually(t, 2*nodetest.Patience, name+" says whose stores are other ones, and what to do", func() bool {
			now := n.status().Advice
			return strings.Contains(now, "n2, n3 ran with other stores before") && strings.Contains(now, "1 of 3 old stores can be left, and a leader needs 2") && strings.Contains(now, "conch log recover flags --out FILE")
		})
		n.logged.Says(t, "the log does not go on here", "conch log recover")
	}
	if h := s.nodes["n1"].health(); h.Role != roleMember || h.Led == nil || *h.Led || h.Index != before {
		t.Errorf("without a majority its health is %+v", h)
	}
	for _, n := range s.nodes {
		n.stop()
	}

	id, err := mtls.LoadIdentity(filepath.Join(s.nodes["n1"].dir, "key"), "")
	if err != nil {
		t.Fatal(err)
	}
	snapshot, r, err := branch(t.Context(), logOf("n1"), txlog.Member{Name: "n1", Key: fingerprintOf(id.Signer())})
	if err != nil || r.ID == made.ID || r.Index < before || r.Kept == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := adopt(t.Context(), logOf("n2"), snapshot); err != nil {
		t.Fatal(err)
	}
	if _, err := adopt(t.Context(), logOf("n2"), snapshot[1:]); err == nil {
		t.Error("half a file is adopted")
	}
	if err := os.RemoveAll(logOf("n3").Store); err != nil {
		t.Fatal(err)
	}
	s.start("n1", "n2", "n3")
	pgtest.Eventually(t, nodetest.Patience, "n2 has the log", func() bool { return s.nodes["n2"].status().State == stateRunning })
	if o := s.nodes["n2"].put("after", 1); o.Index <= before {
		t.Errorf("it goes on at %d, after %d", o.Index, before)
	}
	s.equal("n1", "n2")
	if read := gets[Read](s.nodes["n2"], http.MethodGet, `/v1/logs/flags/state?query={"get":"k7"}`, ""); string(read.Answer) != `{"key":"k7","value":7,"found":true}` {
		t.Errorf("n2 has %s", read.Answer)
	}
	s.equal("n1", "n2", "n3") // n3 has begun without the file, as a node does that has nothing
	n4 := s.nodes["n4"]       // it has the old log, and stays with it until the configuration names the new one
	n4.start()
	pgtest.Eventually(t, nodetest.Patience, "n4 has the old log", func() bool { return n4.status().ID == made.ID })
	pgtest.Eventually(t, 2*nodetest.Patience, "n4 says that there is another one, and how to move there", func() bool {
		now := n4.status().Advice
		return strings.Contains(now, "another log of this name at n") && strings.Contains(now, "conch log recover flags --from FILE") && strings.Contains(now, "id = \""+r.ID+"\"")
	})
	for _, name := range []string{"n1", "n2", "n3"} {
		if now := s.nodes[name].status(); now.Advice != "" {
			t.Errorf("%s, which moved, says %q", name, now.Advice)
		}
	}
	for _, id := range []string{strings.Repeat("ab", 32), r.ID} {
		n4.stop()
		n4.more = "id = \"" + id + "\"\n"
		n4.start()
		if id != r.ID {
			pgtest.Eventually(t, nodetest.Patience, "n4 says what is in its way", func() bool {
				return strings.Contains(n4.status().Why, "no node has said yet how that one began")
			})
		}
	}
	s.equal(s.names...)
	if kept, err := filepath.Glob(logOf("n4").Store + ".ended-*"); err != nil || len(kept) != 1 {
		t.Errorf("n4 keeps %q, %v", kept, err)
	}
	if code, text := s.nodes["n1"].asks(http.MethodPost, "/v1/logs/flags/members", `{"members":["n1","n2","n3"]}`); code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	pgtest.Eventually(t, nodetest.Patience, "all decide", func() bool {
		return s.nodes["n2"].status().Decides && s.nodes["n3"].status().Decides
	})
	s.nodes["n3"].put("end", 1)
	s.equal(s.names...)
}

// health is what a node says of its log to callers without a token.
func (n *testNode) health() Health {
	n.t.Helper()
	all, is := n.svc.Health().([]Health)
	if !is || len(all) != 1 {
		n.t.Fatalf("its health is %+v", all)
	}
	text, err := json.Marshal(all[0])
	if err != nil {
		n.t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		n.t.Fatal(err)
	}
	doc := webtest.Read(n.t, openAPI)
	for _, f := range doc.Faults(string(text), doc.At(doc.Root(), "components", "schemas", "LogHealth"), v) {
		n.t.Error(f)
	}
	return all[0]
}

// A node says of each log what it is in it, how far its copy is, and, if it is a member, whether somebody leads.
func TestHealth(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3")
	s.start(s.names...)
	if h := s.nodes["n1"].health(); h != (Health{Namespace: "flags", State: stateWaiting, Role: roleNone}) && h.State != stateOpening {
		t.Errorf("before there is a log: %+v", h)
	}
	s.nodes["n1"].create("n1", "n2")
	at := s.nodes["n1"].put("a", 1).Index
	pgtest.Eventually(t, nodetest.Patience, "all have come as far", func() bool {
		for _, n := range s.nodes {
			if h := n.health(); h.State != stateRunning || h.Index < at || h.Behind > 0 {
				return false
			}
		}
		return true
	})
	leaders := 0
	for _, n := range s.nodes {
		h := n.health()
		if h.Role == roleLeader {
			leaders++
		}
		if decides := n.name != "n3"; decides != (h.Role != roleFollower) || decides != (h.Led != nil) || decides && !*h.Led {
			t.Errorf("%s: %+v", n.name, h)
		}
	}
	if leaders != 1 {
		t.Errorf("%d lead", leaders)
	}
	if (&service{}).Health() != nil {
		t.Error("a node without logs says something of them")
	}
}

// A node that has a log, and whose configuration names one that does not go on with it, keeps what it has.
func TestAnotherLogIsNoSuccessor(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2")
	s.start(s.names...)
	n1, n2 := s.nodes["n1"], s.nodes["n2"]
	made := n1.create("n1")
	pgtest.Eventually(t, nodetest.Patience, "n2 has the log", func() bool { return n2.status().ID == made.ID })
	n1.stop()
	n2.stop()
	if err := os.Remove(filepath.Join(n1.dir, "logs", "flags.log")); err != nil {
		t.Fatal(err)
	}
	n1.start()
	n2.more = "id = \"" + n1.create("n1").ID + "\"\n"
	n2.start()
	pgtest.Eventually(t, nodetest.Patience, "n2 says why it does not run", func() bool {
		now := n2.status()
		return now.State == stateFailed && strings.Contains(now.Why, "does not go on with the first")
	})
	n2.stop()
	n2.more = ""
	n2.start()
	pgtest.Eventually(t, nodetest.Patience, "n2 has what it had", func() bool { return n2.status().ID == made.ID })
}
