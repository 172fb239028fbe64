package quorum_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

// On real files: members restart, snapshots are kept and records dropped while others read, and a member whose store is closed
// under it ends, with the error, while the log goes on.
func TestRealFiles(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		dir := t.TempDir()
		for i, n := range s.nodes {
			n.kill()
			id, err := disk.Create(t.Context(), filepath.Join(dir, n.name))
			if err != nil {
				t.Fatal(err)
			}
			if i < 3 {
				s.genesis.Members[i].Store = id
			}
		}
		for _, n := range s.nodes {
			file, err := disk.Begin(t.Context(), filepath.Join(dir, n.name), s.genesis)
			if err != nil {
				t.Fatal(err)
			}
			n.store = file
			if n != s.nodes[3] {
				n.start()
			}
		}
		s.fill(250)
		for _, n := range []*node{s.nodes[0], s.nodes[2]} {
			n.kill()
			if err := n.store.Close(); err != nil {
				t.Fatal(err)
			}
			file, err := disk.Open(t.Context(), filepath.Join(dir, n.name))
			if err != nil {
				t.Fatal(err)
			}
			n.store = file
			n.start()
			s.fill(5)
		}
		s.nodes[3].start() // from nothing, by a snapshot
		s.fill(150)
		s.equal(20 * time.Second)
		n := s.nodes[1]
		if err := n.store.Close(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-n.ended:
			if !errors.Is(err, store.ErrClosed) {
				t.Errorf("the member ended with %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the member goes on without a store")
		}
		n.run.Store(nil)
		s.net.Kill(n.name)
		n.stop()
		s.within(10*time.Second, "one leads", func() bool { return s.leader() != nil })
		s.goes("after it")
		s.equal(20 * time.Second)
		for _, n := range s.nodes {
			n.kill()
			if err := n.store.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// unsynced is a store whose disk fails.
type unsynced struct {
	store.Store

	fails *atomic.Bool
}

func (u unsynced) Write(step store.Step) error {
	if u.fails.Load() {
		return store.ErrSync
	}
	return u.Store.Write(step)
}

// sync-first: a single member whose disk fails acknowledges nothing any more, says no head of it, and ends.
func TestADiskFails(t *testing.T) {
	bubble(t, 1, 1, func(t *testing.T, s *site) {
		n := s.nodes[0]
		n.kill()
		var fails atomic.Bool
		n.store = unsynced{n.store, &fails}
		n.start()
		s.goes("before")
		s.equal(5 * time.Second)
		at := s.nodes[1].run.Load().Position()
		fails.Store(true)
		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if a, err := n.run.Load().Goal(short, "a", []byte(`{"op":"add","key":"count"}`), 0); err == nil {
			t.Errorf("it was acknowledged: %+v", a)
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
		s.net.Kill(n.name)
		n.stop()
		pass(5 * time.Second)
		if now := s.nodes[1].run.Load().Position(); now != at {
			t.Errorf("the other node has come to %d, and %d was synced", now.Index, at.Index)
		}
	})
}
