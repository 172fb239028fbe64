package quorum_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/store"
)

// shared is one of two processes' line, which have one node's name and key: each hears all that is sent to the node.
type shared struct {
	transport.Line

	inbox chan transport.Envelope
	cut   atomic.Bool
}

func (s *shared) Send(to string, body []byte) error {
	if s.cut.Load() {
		return nil
	}
	return s.Line.Send(to, body)
}

func (s *shared) hear(e transport.Envelope) {
	if !s.cut.Load() {
		s.inbox <- e
	}
}

func (s *shared) Inbox() <-chan transport.Envelope { return s.inbox }
func (s *shared) Close()                           {}

// twin starts a second process under a node's name, with an empty store.
func (n *node) twin(id uint64) *node {
	n.kill()
	line, err := n.site.net.Join(n.name).Open("log")
	if err != nil {
		n.site.t.Fatal(err)
	}
	second := &node{site: n.site, name: n.name, key: n.key, store: store.NewMemory(id, n.site.genesis)}
	one, other := &shared{Line: line, inbox: make(chan transport.Envelope, 1000)}, &shared{Line: line, inbox: make(chan transport.Envelope, 1000)}
	n.line, second.line = one, other
	go func() {
		for {
			select {
			case e := <-line.Inbox():
				one.hear(e)
				other.hear(e)
			case <-n.site.t.Context().Done():
				return
			}
		}
	}()
	return second
}

// cut has one of two processes hear nobody, and be heard by nobody.
func (n *node) cut(is bool) {
	if line, shares := n.line.(*shared); shares {
		line.cut.Store(is)
	}
}

// twins reports whether a node has been told of another one with its name.
func (n *node) twins() bool {
	return n.told(func(e quorum.Event) bool { _, is := e.(quorum.Twin); return is })
}

// Of two processes with one node's name and key one is a member, and the other one is refused while that one is heard. Both are
// told (new-disk-new-member).
func TestTwoProcessesWithOneName(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		s.fill(10)
		first := s.nodes[2]
		second := first.twin(77)
		defer second.kill()
		first.start()
		pass(3 * time.Second)
		second.start()
		pass(20 * time.Second)
		first.cut(true) // for a moment
		pass(1800 * time.Millisecond)
		first.cut(false)
		pass(10 * time.Second)
		if m, _ := txlog.FindMember(s.nodes[0].run.Load().Status().Members, first.name); m.Store != 3 {
			t.Errorf("the store %d took the place of one that is heard", m.Store)
		}
		if !first.twins() || !second.twins() {
			t.Errorf("the first one was told of the other: %v, the second one: %v", first.twins(), second.twins())
		}
		refused := func(e quorum.Event) bool { r, is := e.(quorum.Refused); return is && r.From == first.name }
		if !s.nodes[0].told(refused) && !s.nodes[1].told(refused) {
			t.Error("the leader does not say whom it refuses")
		}
	})
}

// A store that was silent for long enough is replaced. When its process lives after all, it does not take the place back.
func TestAReplacedProcessComesBack(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		s.fill(10)
		first := s.nodes[2]
		second := first.twin(77)
		defer second.kill()
		first.start()
		pass(3 * time.Second)
		s.within(5*time.Second, "somebody leads", func() bool { return s.leader() != nil })
		first.cut(true)
		second.start()
		s.within(10*time.Second, "the second one is admitted", func() bool {
			m, _ := txlog.FindMember(s.nodes[0].run.Load().Status().Members, first.name)
			return m.Store == 77
		})
		first.cut(false)
		pass(10 * time.Second)
		second.cut(true)
		pass(30 * time.Second)
		if m, _ := txlog.FindMember(s.nodes[0].run.Load().Status().Members, first.name); m.Store != 77 {
			t.Errorf("the store %d has taken its place back", m.Store)
		}
		if !first.twins() {
			t.Error("the first one was not told of the other")
		}
	})
}

// An old store that is mounted again learns from its log that another one has taken its place since. That is history, and no other process:
// it asks to be admitted, and is once the other one is silent (new-disk-new-member).
func TestAnOldStoreIsNoTwin(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		s.fill(10)
		n := s.nodes[2]
		old := n.store
		n.kill()
		n.store = store.NewMemory(77, s.genesis)
		n.start()
		admitted := func(id uint64) func() bool {
			return func() bool {
				m, _ := txlog.FindMember(s.nodes[0].run.Load().Status().Members, n.name)
				return m.Store == id && n.run.Load().Status().Decides
			}
		}
		s.within(20*time.Second, "the new store is a member's", admitted(77))
		s.fill(10)
		n.kill()
		n.store = old
		n.start()
		s.within(30*time.Second, "the old store is a member's", admitted(3))
		if n.twins() {
			t.Error("it is said that two processes have one name")
		}
	})
}

// A member that asks for many stores to be admitted shuts out no other member whose disk is lost.
func TestOneDoesNotShutOthersOut(t *testing.T) {
	bubble(t, 5, 0, func(t *testing.T, s *site) {
		s.fill(10)
		many, lost := s.raw("n2"), s.nodes[2]
		lost.kill()
		lost.store = store.NewMemory(77, s.genesis)
		lost.start()
		next := uint64(1000)
		s.within(20*time.Second, "the new store is admitted", func() bool {
			for range 20 {
				next++
				for _, to := range []string{"n1", "n4", "n5"} {
					many.say(to, wire.Admit{Store: next, Key: fingerprint(keyOf("n2"))})
				}
			}
			return lost.run.Load().Status().Decides
		})
	})
}

// Another process that asks in a member's name, while that one is heard, keeps nobody from changing the members: it waits for nothing.
func TestATwinStopsNoChange(t *testing.T) {
	bubble(t, 5, 0, func(t *testing.T, s *site) {
		s.fill(4)
		s.within(5*time.Second, "somebody leads", func() bool { return s.leader() != nil })
		rest := slices.DeleteFunc(slices.Clone(s.nodes), func(n *node) bool { return n == s.leader() })
		first := rest[0]
		second := first.twin(77)
		defer second.kill()
		first.start()
		pass(3 * time.Second)
		second.start()
		pass(10 * time.Second)
		leader := s.leader()
		var failed error
		for range 3 { // a moment after it has asked it may be a new store
			now := leader.run.Load().Status()
			set := slices.DeleteFunc(slices.Clone(now.Members), func(m txlog.Member) bool { return m.Name == rest[3].name })
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			_, failed = leader.run.Load().Change(ctx, set, now.MembersAt)
			if cancel(); failed == nil {
				return
			}
			pass(700 * time.Millisecond)
		}
		t.Error(failed)
	})
}
