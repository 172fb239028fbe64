package chunksync

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// Chunks that arrived before a connection broke or a process ended are not sent again.
func TestAPushGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	const pieces = 24
	tm := newPatientTeam(t, 2, new(0), 2*patience) // an exchange that times out would be sent again
	one, two := tm.nodes[0], tm.nodes[1]
	one.lead(1)
	two.until("it is followed", func() bool { return two.store.promised().Tenure.Epoch == 1 })
	stuck := func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || two.chunks.Load() < pieces/2 {
			return false
		}
		w.WriteHeader(http.StatusBadGateway)
		return true
	}
	two.block.Store(&stuck)
	big := bytesOf(9, pieces*ChunkSize)
	one.mustPut("big", big, 0)
	two.until("half of it has arrived", func() bool { return two.chunks.Load() >= pieces/2 })
	two.until("no more is on its way", func() bool {
		two.store.mu.RLock()
		defer two.store.mu.RUnlock()
		return len(two.store.have) >= pieces/2
	})
	if _, err := two.content("big"); !errors.Is(err, ErrNotFound) {
		t.Errorf("reading half a file: got %v, want ErrNotFound", err)
	}
	_ = two.store.Close()
	two.start()
	two.block.Store(nil)
	two.until("it holds it", func() bool { return two.has("big", big) })
	if n := two.chunks.Load(); n > pieces+8 { // 8 may have met the end of the process, or come before a new offer
		t.Errorf("%d chunks were sent, want at most %d", n, pieces+8)
	}
}

// A follower that does not answer delays no other follower and no writer.
func TestASlowFollowerDelaysNobody(t *testing.T) {
	t.Parallel()
	tm := newPatientTeam(t, 3, new(1), 2*patience) // a wait for two would time out
	one, two, three := tm.nodes[0], tm.nodes[1], tm.nodes[2]
	hang := make(chan struct{})
	slow := func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
		return false
	}
	two.block.Store(&slow)
	one.lead(1)
	for i := range 5 {
		one.mustPut("f", bytesOf(uint64(i), 2*ChunkSize), AsConfigured)
	}
	if !three.has("f", bytesOf(4, 2*ChunkSize)) {
		t.Error("the write is acknowledged, but three does not have it")
	}
	close(hang)
	two.until("it catches up", func() bool { return two.has("f", bytesOf(4, 2*ChunkSize)) })
}

// A peer whose ID is not the configured one counts for nothing. Otherwise a node that is
// configured twice would be two copies.
func TestAPeerWithAnotherIDCountsForNothing(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(1))
	one, two := tm.nodes[0], tm.nodes[1]
	cfg := two.config()
	cfg.ID = "n3"
	other, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h := other.Handler()
	two.server.Store(&h)
	one.lead(1)
	one.until("it leads", func() bool { return one.m.Status().Leading })
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errEnough)
	defer cancel()
	if _, err := one.m.Put(ctx, "f", bytes.NewReader(nil), 1); !errors.Is(err, ErrUnconfirmed) {
		t.Errorf("put: got %v, want ErrUnconfirmed, since another node answered", err)
	}
}

// A node that does not lead refuses a write before it reads the content.
func TestARefusalReadsNothing(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	gate, latch := fence.New("s", nil)
	latch.Open(tokenOf(1, "n1"), 0, math.MaxInt64)
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); _ = n.m.Lead(ctx, gate, tokenOf(1, "n1")) }()
	n.mustPut("f", []byte("1"), 0)
	latch.Suspend()
	content := &breaks{left: 10}
	if _, err := n.m.Put(ctx, "f", content, 0); !errors.Is(err, fence.ErrLate) || content.left != 10 {
		t.Errorf("put: got %v and %d unread bytes, want ErrLate and 10", err, content.left)
	}
	if !n.has("f", []byte("1")) || n.m.Status().Leading {
		t.Errorf("got status %+v, want the file and Leading false", n.m.Status())
	}
	stop()
	ends(t, over)
}

// An upload that began in an earlier term of this node is refused in its next term.
func TestAnUploadAcrossTerms(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	gate, latch := fence.New("s", nil)
	lead := func(epoch int64) (stop func()) {
		latch.Open(tokenOf(epoch, "n1"), 0, math.MaxInt64)
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); _ = n.m.Lead(ctx, gate, tokenOf(epoch, "n1")) }()
		n.until("it leads", func() bool { return n.m.Status().Leading })
		return func() { cancel(); ends(t, over) }
	}
	stop := lead(1)
	body, uploader := io.Pipe()
	put := make(chan error)
	go func() { _, err := n.m.Put(t.Context(), "f", body, 0); put <- err }()
	if _, err := uploader.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	stop()
	latch.Shut(nil)
	stop = lead(2)
	_ = uploader.Close()
	err := <-put
	if stale, ok := errors.AsType[*StaleError](err); !ok || stale.Holder != "n1" || stale.Promised.Epoch != 2 {
		t.Errorf("put: got %v, want a StaleError with holder n1 and epoch 2", err)
	}
	if !n.m.Status().Leading {
		t.Error("the next term has ended too")
	}
	stop()
}

// A peer that lacks no chunk and still does not take the catalog is treated as failing.
func TestAPeerThatTakesNothing(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(0))
	one, two := tm.nodes[0], tm.nodes[1]
	var offers atomic.Int64
	stubborn := func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && r.URL.Path == "/catalog" {
			offers.Add(1)
			answer(w, "application/json", http.StatusOK, heldAnswer{ID: two.id})
			return true
		}
		return false
	}
	two.block.Store(&stubborn)
	trouble := make(chan error, 1)
	one.m.cfg.Events.Trouble = func(_ string, err error) {
		select {
		case trouble <- err:
		default:
		}
	}
	one.lead(1)
	one.mustPut("f", []byte("1"), 0)
	select {
	case err := <-trouble:
		if !strings.Contains(err.Error(), "lacks no chunk") {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Errorf("no trouble is reported after %d offers", offers.Load())
	}
}
