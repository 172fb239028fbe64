package logs

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// The others have made another log of the name, and a follower of the old one was left out. Whatever its users ask that needs the members has no
// answer, and says why: nobody would look at the status of a node that only seems to be slow.
func TestProblemsNameTheOtherLog(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2")
	s.start(s.names...)
	member, n := s.nodes["n1"], s.nodes["n2"]
	member.create("n1")
	pgtest.Eventually(t, nodetest.Patience, "n2 has the log", func() bool { return n.status().State == stateRunning })
	s.nodes["n1"].put("a", 1)
	s.equal(s.names...)
	n.stop()
	member.stop()
	if err := os.Remove(filepath.Join(member.dir, "logs", "flags.log")); err != nil {
		t.Fatal(err)
	}
	member.start()
	other := member.create("n1")
	n.start()
	says := "there is another log of this name at n1, " + other.ID
	pgtest.Eventually(t, 2*nodetest.Patience, "n2 says so in its status", func() bool { return strings.HasPrefix(n.status().Advice, says) })
	var asking sync.WaitGroup
	defer asking.Wait()
	for _, ask := range [][2]string{
		{"POST /v1/logs/flags/goals", `{"goal":{"op":"put","key":"a","value":2}}`},
		{"GET /v1/logs/flags/state?query=%7B%22get%22:%22a%22%7D&fresh=1", ""},
		{"POST /v1/logs/flags/members", `{"members":["n1","n2"]}`},
	} {
		asking.Go(func() {
			method, path, _ := strings.Cut(ask[0], " ")
			if code, text := n.asks(method, path, ask[1]); code != http.StatusServiceUnavailable || !strings.Contains(text, ". But "+says) {
				t.Errorf("%s: %d %s", ask[0], code, text)
			}
		})
	}
	if code, text := n.asks(http.MethodGet, "/v1/logs/flags/state?query=%7B%22get%22:%22a%22%7D", ""); code != http.StatusOK {
		t.Errorf("its own copy can be read: %d %s", code, text)
	}
}
