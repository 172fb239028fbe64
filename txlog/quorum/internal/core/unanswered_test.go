package core

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// A core that is given up tells the nodes that wait for it, before it ends: if this node leads again soon, they would wait for an answer
// that nobody owes them any more, until a timeout (B8).
func TestACoreThatEndsAnswersOtherNodes(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Core){
		"restart": func(c *Core) { c.restart(errors.New("a test")) },
		"lost":    func(c *Core) { c.lose(majority.ErrLost) },
	} {
		l := newLone(t)
		c := l.core
		c.newTicket(asker{user: 1})
		c.newTicket(asker{node: "n1", try: 5}) // this node's own: the loop answers
		c.newTicket(asker{node: "n2", try: 7})
		c.newTicket(asker{node: "n3", serial: 9})
		end(c)
		var goal wire.GoalDone
		var read wire.Confirmed
		for _, a := range c.out.Acts {
			switch a := a.(type) {
			case Restart, Lost:
				if !errors.Is(goal.Err, txlog.ErrNotLeader) || goal.Try != 7 || !errors.Is(read.Err, txlog.ErrNotLeader) || read.Serial != 9 {
					t.Errorf("%s: before the end it says %+v and %+v", name, goal, read)
				}
			case Send:
				switch m := a.Body.(type) {
				case wire.GoalDone:
					goal = m
				case wire.Confirmed:
					read = m
				}
				if a.To != "n2" && a.To != "n3" {
					t.Errorf("%s: it says %+v", name, a)
				}
			}
		}
	}
}
