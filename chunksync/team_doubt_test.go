package chunksync

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
)

// doubtful is a node of which, once the answer is called, nobody knows what is on its
// disk after a write.
func (n *node) doubtful() (doubt func()) {
	var bad atomic.Bool
	n.store.disk.trip = func(op, name string) error {
		if bad.Load() && op == "settle" && name == filepath.Base(n.dir) {
			return syscall.EIO
		}
		return nil
	}
	return func() { bad.Store(true) }
}

// A leader that does not know what is on its own disk can write nothing more until it is
// opened again: it resigns, so that another can.
func TestALeaderInDoubtResigns(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, nil)
	one, two := tm.nodes[0], tm.nodes[1]
	doubt := one.doubtful()
	first := one.lead(1)
	one.mustPut("f", []byte("1"), AsConfigured)
	doubt()
	if err := one.put("f", []byte("2"), AsConfigured); !errors.Is(err, syscall.EIO) {
		t.Errorf("put: %v", err)
	}
	first.ends(t)
	if !errors.Is(first.err, syscall.EIO) {
		t.Errorf("it ended with %v", first.err)
	}
	two.lead(2)
	two.mustPut("f", []byte("3"), AsConfigured)
}

// So does one that was asked to hear somebody else, and could not promise it.
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
		t.Error("it has promised")
	}
	first.ends(t)
	if !errors.Is(first.err, syscall.EIO) {
		t.Errorf("it ended with %v", first.err)
	}
}

// A disk that cannot take what a peer has is this node's, and not the peer's: another
// node may have a better one.
func TestWhoseFaultAnAdoptionIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		harm    func(one, two *node) error
		resigns bool
	}{
		{"no room for the content", func(one, _ *node) error { one.small(0); return nil }, true},
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
		{"the peer has lost it", func(_, two *node) error { return two.lose([]byte("1")) }, false},
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
			if err := two.store.add(h, []byte("1")); err != nil {
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
				t.Errorf("%+v, %v", in, context.Cause(l.over))
			}
			if name := blamed.Load(); c.resigns && name != nil || !c.resigns && (name == nil || *name != two.id) {
				t.Errorf("blamed is %v", name)
			}
		})
	}
}
