package chunksync

import (
	"context"
	"errors"
	"math"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/conchhq/conch/fence"
)

// loopOf makes a leadership of the node whose actions the test performs one by one.
func (n *node) loopOf(epoch int64) (*loop, *fence.Latch) {
	n.t.Helper()
	gate, latch := fence.New("s", nil)
	token := tokenOf(epoch, n.id)
	latch.Open(token, 0, math.MaxInt64)
	tenure := tenureOf(token)
	if _, err := n.store.raise(tenure, n.id); err != nil {
		n.t.Fatal(err)
	}
	over, end := context.WithCancelCause(n.t.Context())
	l := &loop{
		Config: n.m.cfg, gate: gate, token: token, tenure: tenure, end: end, over: over,
		client: client{cfg: n.m.cfg, tenure: tenure}, machine: newMachine(n.m.cfg.settings()), sending: map[string]sending{},
	}
	n.t.Cleanup(l.dropAll)
	return l, latch
}

// A failed send keeps the other chunks of its catalog pinned, even if the leader's own
// catalog is newer. Otherwise an intact leader would take itself for damaged.
func TestAFailedPieceLeavesTheOthers(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(0))
	one, two := tm.nodes[0], tm.nodes[1]
	l, _ := one.loopOf(1)
	first, second := []byte("first"), []byte("second")
	unpin := one.store.pin(hashOf(first), hashOf(second))
	for _, content := range [][]byte{first, second} {
		if err := one.store.add(content); err != nil {
			t.Fatal(err)
		}
	}
	both := File{Size: ChunkSize + 6, Chunks: []Hash{hashOf(first), hashOf(second)}}
	c := catalog{Tenure: l.tenure, Seq: 1, Files: map[string]File{"f": both}}
	if _, _, err := one.store.take(c, one.id, false); err != nil {
		t.Fatal(err)
	}
	unpin()
	if in, ok := l.perform(t.Context(), offer{two.id, c.Version()}).(lacking); !ok || len(in.Chunks) != 2 {
		t.Fatalf("the offer: got %+v, want two lacking chunks", in)
	}
	full := func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusInternalServerError)
		return true
	}
	two.block.Store(&full)
	if in, ok := l.perform(t.Context(), send{two.id, hashOf(first)}).(failed); !ok {
		t.Fatalf("sending the first: got %+v, want failed", in)
	}
	two.block.Store(nil)
	if _, _, err := one.store.take(c.with("f", nil), one.id, false); err != nil {
		t.Fatal(err)
	}
	if in, ok := l.perform(t.Context(), send{two.id, hashOf(second)}).(sent); !ok {
		t.Errorf("sending the second: got %+v, want sent", in)
	}
	if l.over.Err() != nil {
		t.Errorf("the leadership ended with %v, want no end", context.Cause(l.over))
	}
	// The next offer is of the current catalog and unpins the one before.
	if in, ok := l.perform(t.Context(), offer{two.id, Version{1, 2}}).(took); !ok {
		t.Errorf("the next offer: got %+v, want took", in)
	}
	if one.chunkCount() != 0 {
		t.Errorf("got %d chunks of a catalog that is not sent any more, want none", one.chunkCount())
	}
}

// A leader does not verify what it sends. A chunk that has rotted is refused by the peer, and then
// the leader notices it and resigns.
func TestARottenChunkIsRefused(t *testing.T) {
	t.Parallel()
	for name, harm := range harms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tm := newTeam(t, 2, new(0))
			one, two := tm.nodes[0], tm.nodes[1]
			l, _ := one.loopOf(1)
			content := []byte("a chunk")
			unpin := one.store.pin(hashOf(content))
			defer unpin()
			if err := one.store.add(content); err != nil {
				t.Fatal(err)
			}
			c := catalog{Tenure: l.tenure, Seq: 1, Files: map[string]File{"f": {Size: 7, Chunks: []Hash{hashOf(content)}}}}
			if _, _, err := one.store.take(c, one.id, false); err != nil {
				t.Fatal(err)
			}
			if in, ok := l.perform(t.Context(), offer{two.id, c.Version()}).(lacking); !ok {
				t.Fatalf("the offer: got %+v, want a lacking chunk", in)
			}
			if err := harm(one.chunkPath(content)); err != nil {
				t.Fatal(err)
			}
			if in, ok := l.perform(t.Context(), send{two.id, hashOf(content)}).(deposed); !ok || !errors.Is(context.Cause(l.over), ErrDamaged) {
				t.Errorf("sending it: got %+v, and the leadership ended with %v, want deposed and ErrDamaged", in, context.Cause(l.over))
			}
			if two.chunkCount() != 0 {
				t.Error("the peer has a rotten chunk")
			}
		})
	}
}

// A leader whose store has taken another one's catalog offers nothing of it.
func TestAnothersCatalogIsNotOffered(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(0))
	one, two := tm.nodes[0], tm.nodes[1]
	l, _ := one.loopOf(1)
	if _, _, err := one.store.take(catalog{Tenure: Tenure{Epoch: 2}, Seq: 3}, "other", false); err != nil {
		t.Fatal(err)
	}
	if in, ok := l.perform(t.Context(), offer{two.id, Version{2, 3}}).(deposed); !ok || two.store.promised().Held != (Version{}) {
		t.Errorf("got %+v, and the peer holds %s, want deposed and nothing", in, two.store.promised().Held)
	}
}

// A chunk that a peer has lost is sent again, unless the leader's file was removed meanwhile. The
// leader then has no chunk, and is not damaged.
func TestALostChunkThatIsNotNeededAnyMore(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(0))
	one, two := tm.nodes[0], tm.nodes[1]
	l, _ := one.loopOf(1)
	content := []byte("1")
	unpin := one.store.pin(hashOf(content))
	if err := one.store.add(content); err != nil {
		t.Fatal(err)
	}
	c := catalog{Tenure: l.tenure, Seq: 1, Files: map[string]File{"f": {Size: 1, Chunks: []Hash{hashOf(content)}}}}
	if _, _, err := one.store.take(c, one.id, false); err != nil {
		t.Fatal(err)
	}
	unpin()
	if in, ok := l.perform(t.Context(), offer{two.id, c.Version()}).(lacking); !ok {
		t.Fatalf("the offer: got %+v, want a lacking chunk", in)
	}
	l.drop(two.id) // as if the peer had held it already, and lost it
	if _, _, err := one.store.follow(c.write("f", nil), one.id, false); err != nil {
		t.Fatal(err)
	}
	if in, ok := l.perform(t.Context(), send{two.id, hashOf(content)}).(failed); !ok || l.over.Err() != nil {
		t.Errorf("sending the chunk: got %+v, and the leadership ended with %v, want failed and no end", in, context.Cause(l.over))
	}
}

// A gate that shuts before or during an adoption stops it, and no peer is blamed.
func TestAShutGateAdoptsNothing(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]int64{"before": 0, "meanwhile": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tm := newTeam(t, 2, new(1))
			one, two := tm.nodes[0], tm.nodes[1]
			h := hashOf([]byte("1"))
			held := catalog{Tenure: Tenure{Epoch: 1}, Seq: 1, Files: map[string]File{"f": {Size: 1, Chunks: []Hash{h}}}}
			if err := two.store.add([]byte("1")); err != nil {
				t.Fatal(err)
			}
			if _, _, err := two.store.take(held, two.id, false); err != nil {
				t.Fatal(err)
			}
			l, latch := one.loopOf(2)
			l.Events.Trouble = func(peer string, err error) { t.Errorf("%s is blamed: %v", peer, err) }
			var asked, refused atomic.Int64
			l.Events.Refused = func(error) { refused.Add(1) }
			count := func(http.ResponseWriter, *http.Request) bool {
				if asked.Add(1) == after {
					latch.Suspend()
				}
				return false
			}
			two.block.Store(&count)
			if after == 0 {
				latch.Suspend()
			}
			in, again := l.perform(t.Context(), adopt{Peer: two.id, Version: held.Version()}).(unadopted)
			if !again || in.Peer != two.id || asked.Load() != after || refused.Load() != 1 {
				t.Errorf("got %+v after %d requests and %d refusals, want unadopted after %d and 1", in, asked.Load(), refused.Load(), after)
			}
		})
	}
}
