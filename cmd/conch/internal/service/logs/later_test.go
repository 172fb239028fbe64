package logs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A node that has taken goals for which nobody waits, while nobody leads, has all of them executed once somebody does.
func TestGoalsAreTakenForLater(t *testing.T) {
	t.Parallel()
	const goals = 20
	s := newSite(t, "n1", "n2", "n3")
	s.start(s.names...)
	n := s.nodes["n3"]
	n.create("n1", "n2")
	pgtest.Eventually(t, nodetest.Patience, "n3 has the log", func() bool { return n.status().State == stateRunning })
	n.put("before", 1)
	s.nodes["n1"].stop()
	s.nodes["n2"].stop()
	for i := range goals {
		code, text := n.asks(http.MethodPost, "/v1/logs/flags/goals?wait=0", fmt.Sprintf(`{"goal_id":"later %d","goal":{"op":"add","key":"later"}}`, i))
		if code != http.StatusAccepted {
			t.Fatalf("goal %d: %d %s", i, code, text)
		}
	}
	pgtest.Eventually(t, nodetest.Patience, "all wait", func() bool { return n.status().Waiting == goals })
	s.start("n1", "n2")
	counted := ""
	defer func() { t.Log(counted) }()
	pgtest.Eventually(t, 2*nodetest.Patience, "all are executed", func() bool {
		var a struct{ Value int }
		counted = string(gets[Read](n, http.MethodGet, "/v1/logs/flags/state?query=%7B%22get%22:%22later%22%7D", "").Answer)
		return json.Unmarshal([]byte(counted), &a) == nil && a.Value == goals
	})
}

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
