package logs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/transport/mtls"
)

// A member's disk is lost, and its key with it. The node says that the log knows it by another key, and the commands that help; the leader
// counts what it refuses. The same members, asked for once more, are no help. (new-disk-new-member)
func TestAMemberHasAnotherKey(t *testing.T) {
	t.Parallel()
	s := newLog(t, "n1", "n2", "n3")
	n := s.nodes["n3"]
	n.stop()
	key := filepath.Join(n.dir, "key")
	if err := errors.Join(os.Remove(key), os.Remove(filepath.Join(n.dir, "logs", "flags.log"))); err != nil {
		t.Fatal(err)
	}
	if _, err := mtls.CreateIdentity(key); err != nil {
		t.Fatal(err)
	}
	n.start()
	says := func() bool {
		advice := n.status().Advice
		return strings.Contains(advice, "knows this member by another key, sha256:") && strings.Contains(advice, "conch log members flags --set n1,n2`") && strings.Contains(advice, "--set n1,n2,n3`")
	}
	pgtest.Eventually(t, 2*nodetest.Patience, "n3 says so", says)
	refused := func() (all float64) {
		for _, name := range []string{"n1", "n2"} {
			p := s.nodes[name].svc.Parts()[0]
			p.counts.mu.Lock()
			all += float64(p.counts.refused["key"])
			p.counts.mu.Unlock()
		}
		return all
	}
	pgtest.Eventually(t, 2*nodetest.Patience, "the leader counts it", func() bool { return refused() > 0 })
	s.nodes["n1"].set(s.names...)
	if !says() || n.status().Decides {
		t.Errorf("the same members are asked for: %+v", n.status())
	}
	s.nodes["n1"].set("n1", "n2")
	s.nodes["n1"].set(s.names...)
	pgtest.Eventually(t, 2*nodetest.Patience, "n3 decides", func() bool { now := n.status(); return now.Decides && now.Advice == "" })
	s.nodes["n3"].put("a", 2)
	s.equal(s.names...)
}

// The key alone is lost, and the store is kept. The node votes on by its store, so it asks for nothing, and the leader counts nothing; what it signs
// nobody believes. The node says both, and the same commands help.
func TestAMemberHasAnotherKeyAndItsStore(t *testing.T) {
	t.Parallel()
	s := newLog(t, "n1", "n2", "n3")
	n := s.nodes["n3"]
	before := n.status().Store
	n.stop()
	key := filepath.Join(n.dir, "key")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if _, err := mtls.CreateIdentity(key); err != nil {
		t.Fatal(err)
	}
	n.start()
	pgtest.Eventually(t, 2*nodetest.Patience, "n3 says so", func() bool {
		now := n.status()
		return now.Decides && strings.Contains(now.Advice, "by its store, which it still has, it votes, and may lead, and nobody believes what it signs") &&
			strings.Contains(now.Advice, "--set n1,n2`") && strings.Contains(now.Advice, "--set n1,n2,n3`")
	})
	s.nodes["n2"].stop() // so the vote of n3 is needed
	s.nodes["n1"].put("a", 2)
	s.nodes["n2"].start()
	s.equal(s.names...)
	s.nodes["n1"].set("n1", "n2")
	s.nodes["n1"].set(s.names...)
	pgtest.Eventually(t, 2*nodetest.Patience, "n3 decides by its key", func() bool { now := n.status(); return now.Decides && now.Advice == "" && now.Store == before })
	n.put("a", 3)
	s.equal(s.names...)
}
