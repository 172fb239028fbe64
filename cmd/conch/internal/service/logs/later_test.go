package logs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A node that has taken goals for which nobody waits, while nobody leads, has all of them executed once somebody does, also those for
// which there was no room then. What it does not take it refuses at once.
func TestGoalsAreTakenForLater(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3")
	s.start(s.names...)
	n := s.nodes["n3"]
	n.create("n1", "n2")
	pgtest.Eventually(t, nodetest.Patience, "n3 has the log", func() bool { return n.status().State == stateRunning })
	n.put("before", 1)
	s.nodes["n1"].stop()
	s.nodes["n2"].stop()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for range 5 {
		waiting.Go(func() { _, _ = n.asks(http.MethodPost, "/v1/logs/flags/goals", `{"goal":{"op":"add","key":"waited"}}`) })
	}
	pgtest.Eventually(t, nodetest.Patience, "goals wait", func() bool { return n.status().Waiting == 5 })
	for i := range mostLater + 1 {
		code, text := n.asks(http.MethodPost, "/v1/logs/flags/goals?wait=0", fmt.Sprintf(`{"goal_id":"later %d","goal":{"op":"add","key":"later"}}`, i))
		if want := map[bool]int{true: http.StatusAccepted, false: http.StatusTooManyRequests}[i < mostLater]; code != want {
			t.Fatalf("goal %d: %d %s, want %d", i, code, text, want)
		}
	}
	s.start("n1", "n2")
	counted := ""
	defer func() { t.Log(counted) }()
	pgtest.Eventually(t, 2*nodetest.Patience, "all are executed", func() bool {
		var a struct{ Value int }
		counted = string(gets[Read](n, http.MethodGet, "/v1/logs/flags/state?query=%7B%22get%22:%22later%22%7D", "").Answer)
		return json.Unmarshal([]byte(counted), &a) == nil && a.Value == mostLater
	})
}
