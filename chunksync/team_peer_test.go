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
