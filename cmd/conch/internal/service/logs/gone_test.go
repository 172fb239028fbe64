package logs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A member's store is removed under it, with its whole folder: the member goes on in a file that nobody finds again, and says so, with what
// to do, before its restart does. After the restart that it advises the member is one again.
func TestAStoreThatIsRemovedUnderItsNode(t *testing.T) {
	t.Parallel()
	s := newLog(t, "n1", "n2", "n3")
	n := s.nodes["n2"]
	if err := os.RemoveAll(filepath.Join(n.dir, "logs")); err != nil {
		t.Fatal(err)
	}
	said := func(text string) bool {
		return strings.Contains(text, "was removed while it was in use") && strings.Contains(text, "restart this node")
	}
	pgtest.Eventually(t, nodetest.Patience, "the status says so", func() bool { return said(n.status().Advice) })
	if !slices.ContainsFunc(n.logged.Lines(), said) {
		t.Error("the log of the node does not say so")
	}
	n.put("b", 2) // the log goes on
	n.stop()
	if _, err := os.Stat(filepath.Join(n.dir, "logs", "flags.log")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the store is there: %v", err)
	}
	n.start()
	pgtest.Eventually(t, 2*nodetest.Patience, "n2 is a member again", func() bool {
		now := n.status()
		return now.Decides && now.Advice == ""
	})
	s.equal(s.names...)
}
