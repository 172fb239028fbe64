package quorum_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog/quorum"
)

// A goal whose connection to the leader has ended is sent again over the next one: nobody waits for the timeout (B8) of a message
// that is known to be lost.
func TestAGoalIsSentAgainOverANewConnection(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		s.fill(5)
		l, n := s.leader(), s.nodes[3]
		n.kill()
		var broken atomic.Bool
		n.with = func(c *quorum.Config) {
			peers := c.Peers
			c.Peers = func() []string {
				return slices.DeleteFunc(peers(), func(name string) bool { return broken.Load() && name == l.name })
			}
		}
		n.start()
		pass(time.Second)
		s.net.Cut(n.name, l.name)
		began := time.Now()
		goal := later(func() (string, error) { a, err := n.count("g"); return fmt.Sprint(a.Fault), err })
		pass(round)
		broken.Store(true)
		pass(10 * round)
		s.net.Heal()
		broken.Store(false)
		if r := <-goal; r.err != nil || r.is != "" {
			t.Errorf("%+v", r)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// choked is a line that takes nothing for a while.
type choked struct {
	transport.Line

	full *atomic.Bool
}

func (c *choked) Send(to string, body []byte) error {
	if c.full.Load() {
		return transport.ErrFull
	}
	return c.Line.Send(to, body)
}

// A goal that cannot be sent at all is tried again soon, too.
func TestAGoalThatIsNotSent(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		s.fill(5)
		n := s.nodes[3]
		n.kill()
		var full atomic.Bool
		n.with = func(c *quorum.Config) { c.Line = &choked{c.Line, &full} }
		n.start()
		pass(time.Second)
		full.Store(true)
		began := time.Now()
		goal := later(func() (string, error) { a, err := n.count("g"); return fmt.Sprint(a.Fault), err })
		pass(5 * round)
		full.Store(false)
		if r := <-goal; r.err != nil || r.is != "" {
			t.Errorf("%+v", r)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
