package logs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A member whose log does not run, or whose store has no vote, says so to gossip, which suggests another one, and takes it back once it
// works again. A follower says nothing of the kind: it may be suggested to others.
func TestAMemberThatCannotWorkIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3", "n4")
	s.start(s.names...)
	n2, follower := s.nodes["n2"], s.nodes["n4"]
	n2.create("n1", "n2", "n3")
	n2.put("a", 1)
	s.equal(s.names...)
	for _, name := range []string{"n2", "n1", "n3"} {
		s.nodes[name].stop()
	}
	file := filepath.Join(n2.dir, "logs", "flags.log")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	n2.start()
	says := func(what string) {
		t.Helper()
		pgtest.Eventually(t, 4*nodetest.Patience, "n2 says: "+what, func() bool { return strings.Contains(n2.withdrawn(), what) })
	}
	says("log flags does not run")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	says("this node's store has no vote yet") // what it has, it has of the follower
	s.start("n1", "n3")
	says("<nil>")
	if !n2.status().Decides {
		t.Error("it is taken back before it decides")
	}
	if text := follower.withdrawn(); text != "<nil>" || follower.status().State != stateRunning {
		t.Errorf("the follower says %q", text)
	}
}

// Gossip names a node before it is a member, and says so once: when it has become one it is the one to lead. It deposes nobody: if another one
// was faster, it comes first when that ends.
func TestASuggestionIsRemembered(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3", "n4")
	s.start(s.names...)
	s.nodes["n1"].create("n1", "n2", "n3")
	for _, n := range s.nodes {
		pgtest.Eventually(t, nodetest.Patience, n.name+" has the log", func() bool { return n.status().State == stateRunning })
		n.ground.Load().Suggest("n4")
	}
	s.nodes["n1"].put("a", 1)
	s.equal(s.names...)
	s.nodes["n1"].set("n2", "n3", "n4")
	for range 4 {
		var leads *testNode
		pgtest.Eventually(t, 2*nodetest.Patience, "a member leads", func() bool {
			for _, name := range []string{"n2", "n3", "n4"} {
				if s.nodes[name].status().Leads {
					leads = s.nodes[name]
				}
			}
			return leads != nil
		})
		if leads.name == "n4" {
			return
		}
		leads.stop()
		leads.start()
		leads.ground.Load().Suggest("n4")
	}
	t.Error("n4 is suggested, and others lead each time")
}
