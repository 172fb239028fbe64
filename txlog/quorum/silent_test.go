package quorum_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
	"github.com/conchhq/conch/txlog/store"
)

// failure is of a disk: it is asked for, has happened, and so many things were said after it.
type failure struct {
	asked, happened atomic.Bool
	said            atomic.Int64
}

func (f *failure) says() {
	if f.happened.Load() {
		f.said.Add(1)
	}
}

// sick is a store whose writes fail from some time on.
type sick struct {
	store.Store
	*failure
}

func (s sick) Write(step store.Step) error {
	if s.asked.Load() {
		s.happened.Store(true)
		return store.ErrSync
	}
	return s.Store.Write(step)
}

// overheard is the line of its node.
type overheard struct {
	transport.Line
	*failure
}

// Send counts each message: an acknowledgement, a vote, a beat, an answer.
func (o overheard) Send(to string, body []byte) error {
	o.says()
	return o.Line.Send(to, body)
}

// sync-first: from the write that fails on, a member says nothing any more, whether it leads or follows: it acknowledges no entry and no goal,
// votes for nobody, sends no beat, publishes no head, answers no query, and may not act outside. The others go on.
func TestAMemberWhoseDiskFailsIsSilent(t *testing.T) {
	t.Parallel()
	for what, leads := range map[string]bool{"the leader": true, "a follower": false} {
		t.Run(what, func(t *testing.T) {
			bubble(t, 3, 0, func(t *testing.T, s *site) { silent(t, s, leads) })
		})
	}
}

func silent(t *testing.T, s *site, leads bool) {
	t.Helper()
	all := map[*node]*failure{}
	for _, n := range s.nodes {
		f := new(failure)
		n.kill()
		all[n], n.store = f, sick{n.store, f}
		n.with = func(c *quorum.Config) {
			publish := c.Publish
			c.Line, c.Publish = overheard{c.Line, f}, func(head []byte) { f.says(); publish(head) }
		}
		n.start()
	}
	s.goes("before")
	s.within(5*time.Second, "one leads", func() bool { return s.leader() != nil })
	n := s.leader()
	for _, other := range s.nodes {
		if !leads && other != s.leader() {
			n = other
		}
	}
	h, f, others := n.run.Load(), all[n], []*node{}
	for _, o := range s.nodes {
		if o != n {
			others = append(others, o)
		}
	}
	f.asked.Store(true)
	short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if a, err := h.Goal(short, "a", []byte(`{"op":"add","key":"count"}`), 0); err == nil {
		t.Errorf("it has acknowledged %+v", a)
	}
	select {
	case err := <-n.ended:
		if !errors.Is(err, store.ErrSync) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on")
	}
	n.run.Store(nil)
	if _, _, err := h.Query(t.Context(), []byte(`{"get":"goes"}`)); !errors.Is(err, quorum.ErrStopped) || h.Acts() != (majority.Door{}) || h.Status().Decides {
		t.Errorf("it answers queries (%v), may act by %+v, or is a member: %v", err, h.Acts(), h.Status().Decides)
	}
	if a, err := others[0].count("a"); err != nil || a.Index == 0 {
		t.Errorf("the others do not go on: %+v, %v", a, err)
	}
	pass(20 * time.Second)
	if said := f.said.Load(); said > 0 || !f.happened.Load() {
		t.Errorf("after its disk has failed it has said %d things", said)
	}
	s.net.Kill(n.name)
	n.stop()
}
