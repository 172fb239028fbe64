package logs

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/txlog"
)

// Bad input: a thief of a member's key signs a head of an entry that nobody has. The others say whose key it is, with what helps, count it, and seem
// to be behind no longer.
func TestALyingMemberIsNamed(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3", "n4")
	s.start(s.names...)
	s.nodes["n1"].create("n1", "n2", "n3")
	s.nodes["n1"].put("a", 1)
	s.equal(s.names...)
	thief, follower := s.nodes["n1"].svc.Parts()[0], s.nodes["n4"]
	lie := txlog.Head{Member: "n1", Position: txlog.Position{Log: thief.running().Status().Position.Log, Index: 1 << 40, Term: 9, Hash: txlog.Hash{1}}}
	for _, name := range s.names[1:] {
		s.nodes[name].ground.Load().Tell(node.News{Topic: topicOf("flags"), Body: lie.Sign(thief.signer).Encode(), Via: "n2"})
	}
	for _, name := range s.names[1:] {
		n := s.nodes[name]
		pgtest.Eventually(t, 2*nodetest.Patience, name+" names n1", func() bool {
			now := n.status()
			return now.Copy.Denied == 1 && strings.HasPrefix(now.Advice, "n1 has signed a head of entry 1099511627776, and the leader has denied it") && now.Copy.Behind == 0
		})
	}
	if err := testutil.CollectAndCompare(&collector{follower.svc, follower.svc.denied}, strings.NewReader(`
# HELP conch_log_heads_denied Heads that a member has signed and the leader denies, as far as this node knows: either that member lies, or its key is stolen, or a store was restored that has forgotten them.
# TYPE conch_log_heads_denied gauge
conch_log_heads_denied{namespace="flags"} 1
`), "conch_log_heads_denied"); err != nil {
		t.Error(err)
	}
	s.nodes["n2"].put("a", 2)
	s.equal(s.names...)

	// It is taken out: nobody believes its key, and nobody names it any more. What it has signed is kept.
	s.nodes["n2"].set("n2", "n3")
	for _, name := range s.names[1:] {
		n := s.nodes[name]
		pgtest.Eventually(t, 2*nodetest.Patience, name+" names n1 no more", func() bool {
			now := n.status()
			return now.Copy.Denied == 0 && now.Advice == "" && now.Copy.Behind == 0
		})
	}
	follower.stop()
	var out bytes.Buffer
	command := Commands(&cli.Shell{World: cli.World{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}})[0]
	command.SetArgs([]string{"verify", "flags", "--store", filepath.Join(follower.dir, "logs", "flags.log")})
	err := command.ExecuteContext(t.Context())
	if _, proof, _ := strings.Cut(out.String(), "\n"); err != nil || !strings.HasPrefix(proof, "evidence: n1 has signed a head of entry 1099511627776") {
		t.Errorf("verify prints %q, %v", &out, err)
	}
}
