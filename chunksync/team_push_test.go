package chunksync

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

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
