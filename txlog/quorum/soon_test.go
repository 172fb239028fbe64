package quorum_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/wire"
)

// What does not come is asked of others, and of others again, within about a round (B9): package sim/spread counts on it, and thousands of followers
// would wait for some rounds otherwise.
func TestOthersAreAskedWithinARound(t *testing.T) {
	bubble(t, 1, 7, func(t *testing.T, s *site) {
		var silent []*raw
		for i := range s.nodes {
			if i != 1 {
				silent = append(silent, s.raw(fmt.Sprint("n", i+1)))
			}
		}
		pass(2 * round) // the follower knows that they are there
		h := txlog.Head{Position: txlog.Position{Log: s.genesis.ID(), Index: 1, Hash: txlog.Hash{1}}, State: txlog.Hash{2}, Member: "n1"}
		if err := s.nodes[1].run.Load().Heard(h.Sign(keyOf("n1")).Encode(), "n1"); err != nil {
			t.Fatal(err)
		}
		pass(round + 15*time.Millisecond)
		asked := 0
		for _, r := range silent {
			for len(r.line.Inbox()) > 0 {
				m, err := wire.Decode((<-r.line.Inbox()).Body)
				if err != nil {
					t.Fatal(err)
				}
				if _, is := m.Body.(follower.Pull); is {
					asked++
				}
			}
		}
		if asked < 5 {
			t.Errorf("%d nodes were asked for an entry in little more than a round in which none of them answered; want 2, then another one, then two more", asked)
		}
	})
}
