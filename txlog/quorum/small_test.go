package quorum_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog/quorum"
)

// weighed notes whether messages are sent that are middling, and too large.
type weighed struct {
	transport.Line

	middling, large *atomic.Bool
}

func (w weighed) Send(to string, body []byte) error {
	if len(body) > 100<<10 {
		w.middling.Store(true)
	}
	if len(body) > 300<<10 {
		w.large.Store(true)
	}
	return w.Line.Send(to, body)
}

// A member and a follower that were away while large entries were made have them, and no message was so large that the beats of the other
// logs, which share the connection of two nodes, wait for long behind it: at 4 MiB a second 256 KiB take 60 ms, and a leader is lost after
// 300 ms.
func TestMessagesAreSmall(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		var middling, large atomic.Bool
		for _, n := range s.nodes {
			n.kill()
			n.with = func(c *quorum.Config) { c.Line = weighed{c.Line, &middling, &large} }
		}
		s.nodes[0].start()
		s.nodes[1].start()
		s.within(20*time.Second, "one leads", func() bool { return s.leader() != nil })
		for i := range 40 {
			goal := fmt.Sprintf(`{"op":"put","key":"k","value":%q}`, fmt.Sprint(i)+strings.Repeat("x", 30<<10))
			if a, err := s.leader().run.Load().Goal(t.Context(), fmt.Sprint(i), []byte(goal), 0); err != nil || a.Fault != "" {
				t.Fatal(a, err)
			}
		}
		s.nodes[2].start()
		s.nodes[3].start()
		s.equal(20 * time.Second)
		if !middling.Load() || large.Load() {
			t.Errorf("there are middling messages: %v, and too large ones: %v", middling.Load(), large.Load())
		}
	})
}
