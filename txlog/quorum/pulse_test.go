package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/store"
)

// large is a state that is so large that making it anew takes long, as every scrub does.
type large struct {
	txlog.State

	takes time.Duration
}

func (l large) Restore(snapshot []byte) error {
	if len(snapshot) > 10 { // there is something in it
		pass(l.takes)
	}
	return l.State.Restore(snapshot)
}

// With a large state a scrub takes longer than the others wait for a beat. Nobody is deposed by it: the next leader would have to
// scrub as well, before anything else, and the log would stop for good (B11, B15).
func TestAScrubDeposesNobody(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		for _, n := range s.nodes {
			n.kill()
			n.with = func(c *quorum.Config) { c.New = func() txlog.State { return large{kv.New(), 3 * time.Second} } }
			n.start()
		}
		s.fill(120) // with two scrubs, each at all nodes, and a snapshot
		terms := map[uint64]bool{}
		for _, n := range s.nodes {
			n.told(func(e quorum.Event) bool {
				if l, is := e.(quorum.Leads); is && l.Self {
					terms[l.Term] = true
				}
				return false
			})
		}
		if len(terms) > 2 {
			t.Errorf("%d terms have begun", len(terms))
		}
	})
}

// A member that makes its copies anew from a large store takes longer than its leader waits for an answer. The leader that has no
// majority but with it goes on (B15).
func TestACopyMadeAnewDeposesNobody(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		s.fill(120) // with a snapshot
		s.equal(5 * time.Second)
		leader := s.leader()
		var others []*node
		for _, n := range s.nodes {
			if n != leader {
				others = append(others, n)
			}
		}
		n := others[0]
		n.kill()
		var seen sync.Map
		var armed atomic.Bool
		n.with = func(c *quorum.Config) {
			c.New = func() txlog.State { return large{forgetful{kv.New(), &seen, &armed}, 3 * time.Second} }
		}
		n.start()
		s.fill(5)
		s.equal(5 * time.Second)
		term := leader.run.Load().Status().Term
		others[1].kill()
		armed.Store(true)
		s.fill(5)
		if !n.told(func(e quorum.Event) bool { _, is := e.(quorum.Rebuilt); return is }) {
			t.Fatal("it has made nothing anew")
		}
		if now := leader.run.Load().Status(); now.Term != term || !now.Leads {
			t.Errorf("term %d has begun after %d", now.Term, term)
		}
	})
}

// slowDisk takes a while for each write.
type slowDisk struct {
	store.Store

	takes time.Duration
}

func (s slowDisk) Write(step store.Step) error {
	pass(s.takes)
	return s.Store.Write(step)
}

// Nobody reads what a node's copy has and its disk does not: after a power cut it would be gone again (sync-first).
func TestNothingIsReadBeforeItIsStored(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		n := s.nodes[3]
		disk := n.store
		n.kill()
		n.with = func(c *quorum.Config) { c.Store = slowDisk{c.Store, round / 5} }
		n.start()
		done := later(func() (any, error) { s.fill(60); return nil, nil })
		seen := []uint64{}
		for len(done) == 0 {
			_, at, err := n.run.Load().Query(t.Context(), []byte(`{"get":"count"}`))
			if have := disk.View().Last.Index; err != nil || at.Index > have {
				t.Fatalf("it answers of %d, and has stored %d: %v", at.Index, have, err)
			}
			if at := n.run.Load().Position(); at.Index > disk.View().Last.Index {
				t.Fatalf("it says that it is at %d, and has stored %d", at.Index, disk.View().Last.Index)
			}
			if !slices.Contains(seen, at.Index) {
				seen = append(seen, at.Index)
			}
			pass(3 * time.Millisecond)
		}
		if len(seen) < 5 {
			t.Errorf("it was read at %s only: this test cannot fail", fmt.Sprint(seen))
		}
	})
}

// shaky is a state whose memory is wrong once, at one of the diffs.
type shaky struct {
	txlog.State

	left *int
}

func (s shaky) Apply(diff []byte) error {
	if len(diff) > 0 {
		if *s.left--; *s.left == 0 {
			return txlog.ErrDiff
		}
	}
	return s.State.Apply(diff)
}

// slowReads takes a while until it has been read.
type slowReads struct {
	store.Store

	takes time.Duration
}

func (s slowReads) Head(from, upto uint64) (txlog.Head, bool, error) {
	pass(s.takes)
	return s.Store.Head(from, upto)
}

// A follower whose memory is wrong at one of several records has taken over the ones before it, and stored none. Nobody reads them
// before its copy is made anew from its disk.
func TestAPartIsNotRead(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		n := s.nodes[3]
		s.fill(5)
		s.equal(5 * time.Second)
		n.kill()
		s.nodes = s.nodes[:3]
		s.fill(20)
		s.nodes = append(s.nodes, n)
		disk, left := n.store, 15
		n.with = func(c *quorum.Config) {
			c.New = func() txlog.State { return shaky{kv.New(), &left} }
			c.Store = slowReads{c.Store, round}
		}
		n.start()
		anew := func(e quorum.Event) bool { _, is := e.(quorum.Rebuilt); return is }
		for seen := 0; seen < 200; pass(3 * time.Millisecond) {
			short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, at, err := n.run.Load().Query(short, []byte(`{"get":"count"}`))
			if cancel(); errors.Is(err, txlog.ErrUnknown) {
				err = nil // it waits for the copy that is made anew
			}
			now := n.run.Load().Status().Position
			if have := disk.View().Last.Index; err != nil || at.Index > have || now.Index > have {
				t.Fatalf("it answers of %d and says that it is at %d, and has stored %d: %v", at.Index, now.Index, have, err)
			}
			if seen++; seen == 200 && !n.told(anew) {
				t.Error("its memory was right: this test cannot fail")
			}
		}
		s.equal(5 * time.Second)
	})
}
