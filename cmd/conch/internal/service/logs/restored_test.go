package logs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A member's store is restored from a backup, and with one that was away it goes on without what was acknowledged since: the log has forked. n2
// alone has what was acknowledged, and nobody can know that but a person: each node, whichever way it went, names both explanations and accuses
// nobody, and verify names the first entry that differs.
func TestAStoreThatWasRestored(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3", "n4", "n5")
	s.start(s.names...)
	s.nodes["n2"].create("n1", "n2", "n3")
	for i := range 3 {
		s.nodes["n2"].put("a", i)
	}
	s.equal(s.names...)
	common := s.nodes["n1"].status().Position.Index
	file := filepath.Join(s.nodes["n1"].dir, "logs", "flags.log")
	s.stop("n3", "n5", "n1")
	backup, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s.start("n1")
	for i := range 5 {
		s.nodes["n2"].put("b", i)
	}
	s.equal("n1", "n2", "n4")

	s.stop("n1", "n2", "n4")
	if err := os.WriteFile(file, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	s.start("n1", "n3", "n5")
	pgtest.Eventually(t, nodetest.Patience, "the log runs", func() bool { return s.nodes["n1"].status().Leader != "" })
	for i := range 9 { // more than n2 has
		s.nodes["n1"].put("c", i)
	}
	s.start("n2", "n4")
	for _, name := range s.names {
		n := s.nodes[name]
		pgtest.Eventually(t, nodetest.Patience, name+" says that the log has forked", func() bool { return strings.Contains(n.status().Advice, "docs/log.md") })
		for _, c := range []struct{ what, text string }{{"status", n.status().Advice}, {"overview", n.says(t, "status")}} {
			if both := strings.Contains(c.text, "restored from a backup or copied") && strings.Contains(c.text, "lies, or its key is stolen"); !both ||
				!strings.Contains(c.text, "docs/log.md (A store that was restored)") || strings.Contains(c.text, ": it lies") {
				t.Errorf("%s of %s says %q", c.what, name, c.text)
			}
		}
	}
	one := func(text string) func() bool {
		return func() bool {
			return slices.ContainsFunc(s.names, func(name string) bool { return strings.Contains(s.nodes[name].status().Advice, text) })
		}
	}
	pgtest.Eventually(t, nodetest.Patience, "a member says that the leader has other entries", one("leads, and has other entries than those that are committed here"))
	pgtest.Eventually(t, nodetest.Patience, "the leader says that a member has other entries", one("says that entries are committed there which this leader does not have"))
	var args []string
	for _, name := range s.names {
		args = append(args, "--node", s.nodes[name].web.URL)
	}
	text := s.nodes["n1"].says(t, "verify", args...)
	if want := fmt.Sprintf("the nodes differ from entry %d on", common+1); !strings.Contains(text, want) {
		t.Errorf("verify says %q, want %q", text, want)
	}
}

// says returns what a command of conch log about flags prints, and its error.
func (n *testNode) says(t *testing.T, command string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	root := Commands(&cli.Shell{World: cli.World{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}})[0]
	if command != "verify" {
		args = append(args, "--node", n.web.URL)
	}
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetArgs(append([]string{command, "flags"}, args...))
	err := root.ExecuteContext(t.Context())
	return out.String() + fmt.Sprint(err)
}
