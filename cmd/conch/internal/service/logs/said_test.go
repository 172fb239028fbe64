package logs

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/txlog/quorum"
)

// B10: that another member leads while a goal waits is in the node's log, with the goal and both members. So is a goal that had no
// answer in time (B8).
func TestAChangeOfLeaderIsLogged(t *testing.T) {
	t.Parallel()
	n := newSite(t, "n1").nodes["n1"].start()
	p := n.svc.Parts()[0]
	p.heard(quorum.Waits{GoalID: "g1", From: "n2", To: "n3"})
	p.heard(quorum.TimedOut{GoalID: "g2", To: "n3"})
	for what, parts := range map[string][]string{
		"the change":  {"another member leads while a goal waits", "goal_id=g1", "from=n2", "to=n3"},
		"the timeout": {"no answer in time", "goal_id=g2", "leader=n3"},
	} {
		pgtest.Eventually(t, nodetest.Patience, what+" is logged", func() bool {
			for _, line := range n.logged.Lines() {
				has := true
				for _, part := range parts {
					has = has && strings.Contains(line, part)
				}
				if has {
					return true
				}
			}
			return false
		})
	}
}
