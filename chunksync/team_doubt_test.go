package chunksync

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
)

// doubtful fails each sync of the node's folder and of its log once doubt is called.
func (n *node) doubtful() (doubt func()) {
	var bad atomic.Bool
	n.store.disk.trip = func(op, name string) error {
		if bad.Load() && (op == "syncdir" && name == filepath.Base(n.dir) || op == "sync" && name == catalogFile) {
			return syscall.EIO
		}
		return nil
	}
	return func() { bad.Store(true) }
}

// A leader that does not know what is on its disk resigns, so that another node can lead.
func TestALeaderInDoubtResigns(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, nil)
	one, two := tm.nodes[0], tm.nodes[1]
	doubt := one.doubtful()
	first := one.lead(1)
	one.mustPut("f", []byte("1"), AsConfigured)
	doubt()
	if err := one.put("f", []byte("2"), AsConfigured); !errors.Is(err, syscall.EIO) {
		t.Errorf("put: got %v, want EIO", err)
	}
	first.ends(t)
	if !errors.Is(first.err, syscall.EIO) {
		t.Errorf("the leadership ended with %v, want EIO", first.err)
	}
	two.lead(2)
	two.mustPut("f", []byte("3"), AsConfigured)
}

// A leader also resigns if it could not store a promise to another leader.
func TestALeaderInDoubtOfAPromiseResigns(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, nil)
	one, two := tm.nodes[0], tm.nodes[1]
	doubt := one.doubtful()
	first := one.lead(1)
	one.mustPut("f", []byte("1"), AsConfigured)
	doubt()
	later := client{cfg: two.m.cfg, tenure: tenureOf(tokenOf(2, two.id))}
	if _, _, err := later.promise(t.Context(), one.id); err == nil {
		t.Error("the promise is acknowledged, although the disk failed")
	}
	first.ends(t)
	if !errors.Is(first.err, syscall.EIO) {
		t.Errorf("the leadership ended with %v, want EIO", first.err)
	}
}

// An adoption that fails on this node's disk makes it resign and blames no peer. One that
// fails at the peer is retried and blames the peer.
func TestAFailedAdoptionBlamesTheRightNode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		harm    func(one, two *node) error
		resigns bool
	}{
		{"no room for the content", func(one, _ *node) error { one.limitDisk(0); return nil }, true},
		{"no room for the catalog", func(one, _ *node) error {
			one.store.disk.trip = func(op, name string) error {
				if op == "rename" && name == catalogFile {
					return syscall.ENOSPC
				}
				return nil
			}
			return nil
		}, true},
		{"the peer does not answer", func(_, two *node) error { two.cut(); return nil }, false},
		{"the peer has lost the chunk", func(_, two *node) error { return two.lose([]byte("1")) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tm := newTeam(t, 2, new(1))
			one, two := tm.nodes[0], tm.nodes[1]
			l, _ := one.loopOf(2)
			var blamed atomic.Pointer[string]
			l.Events.Trouble = func(peer string, _ error) { blamed.Store(&peer) }
			h := hashOf([]byte("1"))
			held := catalog{Tenure: Tenure{Epoch: 1}, Seq: 1, Files: map[string]File{"f": {Size: 1, Chunks: []Hash{h}}}}
			if err := two.store.add([]byte("1")); err != nil {
				t.Fatal(err)
			}
			if _, _, err := two.store.take(held, two.id, false); err != nil {
				t.Fatal(err)
			}
			if err := c.harm(one, two); err != nil {
				t.Fatal(err)
			}
			in := l.adopt(t.Context(), adopt{Peer: two.id, Version: held.Version()})
			_, again := in.(unadopted)
			if again == c.resigns || (l.over.Err() != nil) != c.resigns {
				t.Errorf("got %+v, and the leadership ended with %v, want it to resign: %v", in, context.Cause(l.over), c.resigns)
			}
			if name := blamed.Load(); c.resigns && name != nil || !c.resigns && (name == nil || *name != two.id) {
				t.Errorf("got a blamed peer: %v, want one: %v", name != nil, !c.resigns)
			}
		})
	}
}
