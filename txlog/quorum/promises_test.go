package quorum_test

import (
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
	"github.com/conchhq/conch/txlog/store"
)

// askless is a line by which nobody is asked for entries.
type askless struct{ transport.Line }

func (l askless) Send(to string, body []byte) error {
	if m, err := wire.Decode(body); err == nil {
		if _, is := m.Body.(follower.Pull); is {
			return nil
		}
	}
	return l.Line.Send(to, body)
}

// A follower whose store has promises that cannot be, of an earlier time as a member, is of no use when a leader counts on it: it ends, so that
// the node goes on with another store, as it does at a start (new-disk-new-member). It does not begin anew with each message of the leader.
func TestPromisesThatCannotBe(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		s.fill(5)
		s.equal(5 * time.Second)
		n := s.nodes[3]
		n.kill()
		if err := majority.NewPromises(n.store).Persist(majority.Persist{Sync: true, Hard: &majority.Hard{Term: 1, Commit: 1 << 40}}); err != nil {
			t.Fatal(err)
		}
		line, err := s.net.Join(n.name).Open("log")
		if err != nil {
			t.Fatal(err)
		}
		n.line = askless{line} // it cannot learn from its copy that it is a member
		n.start()
		defer n.run.Store(nil)
		s.within(5*time.Second, "one leads", func() bool { return s.leader() != nil })
		l := s.leader()
		go func() { // of two members both have to agree
			_, _ = l.run.Load().Change(t.Context(), []txlog.Member{l.member(), n.member()}, l.run.Load().Status().MembersAt)
		}()
		select {
		case err := <-n.ended:
			if !errors.Is(err, quorum.ErrLost) || !errors.Is(err, store.ErrDamaged) {
				t.Errorf("it ends with %v", err)
			}
		case <-time.After(20 * time.Second):
			n.mu.Lock()
			defer n.mu.Unlock()
			again := 0
			for _, e := range n.events {
				if _, is := e.(quorum.Rebuilt); is {
					again++
				}
			}
			t.Errorf("it has begun anew %d times", again)
			n.stop()
			<-n.ended
		}
	})
}
