package quorum_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum"
)

// deaf has a node hear nothing of the members' authority once its copy has come to an index, until the function that it returns is called.
func (n *node) deaf(from uint64) (over func()) {
	var hearsAgain atomic.Bool
	n.kill()
	line, err := n.site.net.Join(n.name).Open("log")
	if err != nil {
		n.site.t.Fatal(err)
	}
	hears := &shared{Line: line, inbox: make(chan transport.Envelope, 1000)}
	n.line = hears
	go func() {
		for {
			select {
			case e := <-line.Inbox():
				m, err := wire.Decode(e.Body)
				_, quorum := m.Body.(wire.Quorum)
				if h := n.run.Load(); err == nil && quorum && !hearsAgain.Load() && h != nil && h.Position().Index >= from {
					continue
				}
				hears.hear(e)
			case <-n.site.t.Context().Done():
				return
			}
		}
	}()
	n.start()
	return func() { hearsAgain.Store(true) }
}

// A store that leaves knows of the change, and what says that it has ended is lost. Nothing more comes, for the log is quiet: the node
// says all the same that it decides nothing, and gives nobody a false alarm.
func TestARemovedStoreOnAQuietLog(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		s.fill(10)
		s.equal(3 * time.Second)
		gone := s.nodes[2]
		over := gone.deaf(s.nodes[0].run.Load().Position().Index + 1)
		s.equal(3 * time.Second)
		pass(3 * time.Second)
		s.change([]txlog.Member{s.nodes[0].member(), s.nodes[1].member(), s.nodes[3].member()})
		pass(3 * time.Second)
		if gone.run.Load().Status().Majority == nil {
			t.Fatal("it knows already that the change has ended: this test shows nothing")
		}
		over()
		pass(time.Minute)
		if st := gone.run.Load().Status(); st.Majority != nil || st.Decides {
			t.Errorf("it decides: %v, and has an authority: %+v", st.Decides, st.Majority)
		}
		if !gone.told(func(e quorum.Event) bool { m, is := e.(quorum.Member); return is && !m.Is }) {
			t.Error("it has not said that it is no member any more")
		}
		joined := func(e quorum.Event) bool { m, is := e.(quorum.Member); return is && m.Is }
		if !s.nodes[3].told(joined) {
			t.Error("the new member has not said that it is one")
		}
	})
}
