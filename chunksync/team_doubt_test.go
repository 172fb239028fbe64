package chunksync

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
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

// A catalog in transit is finished, even if the leader has a newer one meanwhile. Otherwise
// the follower of a busy leader would never take any.
func TestARoundIsFinished(t *testing.T) {
	t.Parallel()
	tm := newPatientTeam(t, 2, new(0), 2*patience) // no exchange times out on a busy machine
	one, two := tm.nodes[0], tm.nodes[1]
	var mu sync.Mutex
	var shown []Version
	two.m.cfg.Events.Followed = func(_ string, v Version) {
		mu.Lock()
		defer mu.Unlock()
		shown = append(shown, v)
	}
	one.lead(1)
	two.until("it is followed", func() bool { return two.store.promised().Held == Version{1, 0} })
	held := make(chan struct{})
	var coming atomic.Bool
	slow := func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			coming.Store(true)
			select {
			case <-held:
			case <-r.Context().Done():
			}
		}
		return false
	}
	two.block.Store(&slow)
	one.mustPut("big", bytesOf(1, 3*ChunkSize), 0)
	one.until("it is on its way", coming.Load) // l.sending may still be the catalog before
	if _, err := one.m.Remove(t.Context(), "big", 0); err != nil {
		t.Fatal(err)
	}
	one.mustPut("small", []byte("1"), 0)
	close(held)
	two.until("it has the newest", func() bool { return two.has("small", []byte("1")) })
	two.until("it has shown each", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Equal(shown, []Version{{1, 0}, {1, 1}, {1, 3}})
	})
	one.until("what was on its way is swept", func() bool {
		one.store.mu.RLock()
		defer one.store.mu.RUnlock()
		return len(one.store.have) == 1
	})
}

// A leader does not adopt a catalog of another version than the peer reported.
func TestAPeerThatReportsAnotherVersion(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(1))
	one, two := tm.nodes[0], tm.nodes[1]
	boast := func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/promise" {
			answer(w, "application/json", http.StatusOK, heldAnswer{ID: two.id, Held: Version{1, 9}})
		}
		return r.URL.Path == "/promise"
	}
	two.block.Store(&boast)
	trouble := make(chan error, 100)
	one.m.cfg.Events.Trouble = func(_ string, err error) {
		select {
		case trouble <- err:
		default:
		}
	}
	one.lead(2)
	select {
	case err := <-trouble:
		if !strings.Contains(err.Error(), "the peer holds 0.0, but reported 1.9") {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("no trouble is reported: the peer is believed")
	}
}
