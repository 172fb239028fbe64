package chunksync

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
)

// S22: followers hold the leader's file data, of any size, byte for byte.
func TestFollowersHoldTheLeadersFiles(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, new(2))
	one := tm.nodes[0]
	one.lead(1)
	contents := map[string][]byte{
		"empty": {}, "small": []byte("hello"), "a/b/exact": bytesOf(1, ChunkSize), "more": bytesOf(2, ChunkSize+1),
		"large": bytesOf(3, 5*ChunkSize-7), "zeros": make([]byte, 3*ChunkSize),
	}
	for name, content := range contents {
		one.mustPut(name, content, AsConfigured)
		for _, n := range tm.nodes {
			if !n.has(name, content) {
				t.Errorf("%s does not hold %s, which was acknowledged by all", n.id, name)
			}
		}
	}
	if _, err := one.m.Remove(t.Context(), "large", AsConfigured); err != nil {
		t.Fatal(err)
	}
	for _, n := range tm.nodes {
		if _, err := n.content("large"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: a removed file: %v", n.id, err)
		}
		s := n.m.Status()
		if s.Holder != "n1" || s.Version != (Version{1, 7}) || time.Since(s.AsOf) > patience || s.Leading != (n == one) {
			t.Errorf("%s: %+v", n.id, s)
		}
		entries, err := os.ReadDir(filepath.Join(n.dir, chunkFolder))
		if err != nil || len(entries) != 5 { // hello, exact, two of more, one of zeros
			t.Errorf("%s: %d chunks are left, %v", n.id, len(entries), err)
		}
		for _, e := range entries {
			if !isHex(e.Name()) {
				t.Errorf("%s on the disk", e.Name())
			}
		}
	}
}

// S22: the successor serves what was acknowledged, though it never got it itself: it
// finds it with another follower. And what its predecessor alone had is overwritten.
func TestASuccessorFindsWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, nil)
	one, two, three := tm.nodes[0], tm.nodes[1], tm.nodes[2]
	first := one.lead(1)
	one.mustPut("old", []byte("old"), 2)
	heal := three.cut()
	big := bytesOf(7, 3*ChunkSize+5)
	one.mustPut("new", big, AsConfigured) // on two, and not on three
	healTwo := two.cut()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errEnough)
	defer cancel()
	receipt, err := one.m.Put(ctx, "lonely", bytes.NewReader([]byte("x")), AsConfigured)
	if !errors.Is(err, ErrUnconfirmed) || !errors.Is(err, errEnough) || receipt.Copies != 0 || !one.has("lonely", []byte("x")) {
		t.Errorf("without any follower: %+v, %v", receipt, err)
	}
	if err := first.end(); !errors.Is(err, errEnough) {
		t.Errorf("the leader ended with %v", err)
	}
	healOne := one.cut()
	heal()
	healTwo()
	if three.has("new", big) {
		t.Fatal("three has it: this test is blind")
	}
	three.lead(2)
	three.until("it leads with what two had", func() bool { return three.m.Status().Leading && three.has("new", big) })
	if v := three.m.Status().Version; v != (Version{2, 0}) {
		t.Errorf("it begins with %s", v)
	}
	healOne()
	one.until("it follows", func() bool { return one.m.Status().Version == Version{2, 0} })
	if _, err := one.content("lonely"); !errors.Is(err, ErrNotFound) || !one.has("new", big) {
		t.Errorf("what nobody else had: %v", err)
	}
}

// A takeover writes nothing until it has heard enough; reads go on.
func TestATakeoverHearsEnough(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, nil)
	one, two, three := tm.nodes[0], tm.nodes[1], tm.nodes[2]
	first := one.lead(1)
	one.mustPut("f", []byte("1"), 2)
	_ = first.end()
	healOne, healTwo := one.cut(), two.cut()
	three.lead(2)
	three.until("it asks", func() bool { return three.m.lead.Load() != nil })
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errEnough)
	defer cancel()
	_, err := three.m.Put(ctx, "f", bytes.NewReader([]byte("2")), 0)
	if !errors.Is(err, ErrTakingOver) || !three.has("f", []byte("1")) || three.m.Status().Leading {
		t.Errorf("alone: %v", err)
	}
	healTwo()
	three.mustPut("f", []byte("2"), 1)
	healOne()
	one.until("it follows", func() bool { return one.has("f", []byte("2")) })
}

// S22, S15: a deposed leader whose gate never shuts changes nothing on any follower,
// and learns that it is deposed.
func TestADeposedLeaderIsRefused(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, new(1))
	one, two, three := tm.nodes[0], tm.nodes[1], tm.nodes[2]
	first := one.lead(1)
	one.mustPut("f", []byte("1"), 2)
	healOne := one.cut() // it can send, and nobody reaches it
	two.lead(2)
	two.mustPut("f", []byte("2"), 1)
	three.until("it follows two", func() bool { return three.has("f", []byte("2")) })
	if err := one.put("f", []byte("stale"), 1); !errors.Is(err, ErrUnconfirmed) && !errors.Is(err, fence.ErrShut) && !errors.Is(err, fence.ErrStale) {
		t.Errorf("the deposed leader's write: %v", err)
	}
	first.ends(t)
	if !errors.Is(first.err, fence.ErrStale) {
		t.Errorf("the deposed leader ended with %v", first.err)
	}
	for _, n := range []*node{two, three} {
		if !n.has("f", []byte("2")) {
			t.Errorf("%s has something else", n.id)
		}
	}
	healOne()
	one.until("it converges", func() bool { return one.has("f", []byte("2")) })
}

// Of two leaders of one epoch, which two histories of a database can mint, a follower
// hears one.
func TestTwoTermsOfOneEpoch(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(0))
	one := tm.nodes[0]
	if _, err := one.store.hear(Reign{3, fence.Term{1}}, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := one.store.hear(Reign{3, fence.Term{2}}, "b"); !errors.Is(err, fence.ErrStale) {
		t.Errorf("the other term: %v", err)
	}
	if _, err := one.store.hear(Reign{3, fence.Term{1}}, "a"); err != nil {
		t.Errorf("the same term again: %v", err)
	}
}

// A follower's write is refused with who leads, and changes nothing.
func TestAFollowersWrite(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, nil)
	tm.nodes[0].lead(1)
	tm.nodes[0].mustPut("f", []byte("1"), 1)
	var shut *fence.ShutError
	if _, err := tm.nodes[1].m.Put(t.Context(), "f", bytes.NewReader([]byte("2")), 0); !errors.As(err, &shut) || shut.Holder != "n1" {
		t.Errorf("put: %v", err)
	}
	if _, err := tm.nodes[1].m.Remove(t.Context(), "f", 0); !errors.Is(err, fence.ErrShut) {
		t.Errorf("remove: %v", err)
	}
	for _, n := range tm.nodes {
		if !n.has("f", []byte("1")) {
			t.Errorf("%s: it is changed", n.id)
		}
	}
}

// A shut gate stops a leader that does not know yet.
func TestAShutGateSendsNothing(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(0))
	one, two := tm.nodes[0], tm.nodes[1]
	gate, latch := fence.New("s", nil)
	latch.Open(tokenOf(1, "n1"), 0, fence.Boottime()) // late from the first instant
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); _ = one.m.Lead(ctx, gate, tokenOf(1, "n1")) }()
	one.until("it leads", func() bool { l := one.m.lead.Load(); return l != nil && l.await(ctx, (*Machine).Leading) == nil })
	if _, err := one.m.Put(ctx, "f", bytes.NewReader(nil), 0); !errors.Is(err, fence.ErrLate) {
		t.Errorf("put: %v", err)
	}
	stop()
	<-over
	if k := two.store.Keeper(); k.Promised != (Reign{}) {
		t.Errorf("it was asked all the same: %+v", k)
	}
}

// What has arrived before a line broke, or a process ended, is not sent again.
func TestAPushGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	const pieces = 24
	tm := newPatientTeam(t, 2, new(0), 2*patience) // what takes too long would be sent again
	one, two := tm.nodes[0], tm.nodes[1]
	one.lead(1)
	two.until("it is followed", func() bool { return two.store.Keeper().Promised.Epoch == 1 })
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
		t.Errorf("half a file: %v", err)
	}
	_ = two.store.Close()
	two.start()
	two.block.Store(nil)
	two.until("it holds it", func() bool { return two.has("big", big) })
	if n := two.chunks.Load(); n > pieces+8 { // those that met the end of a process, or were refused for want of an offer
		t.Errorf("%d chunks were sent for %d", n, pieces)
	}
}

// One follower that does not answer delays neither another nor a writer.
func TestASlowFollowerDelaysNobody(t *testing.T) {
	t.Parallel()
	tm := newPatientTeam(t, 3, new(1), 2*patience) // whoever waits for two waits for ever
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
		t.Error("acknowledged, and three does not have it")
	}
	close(hang)
	two.until("it catches up", func() bool { return two.has("f", bytesOf(4, 2*ChunkSize)) })
}

// What rots on a follower's disk is noticed when it is read, never served, and pushed again.
func TestRotIsRepaired(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(1))
	one, two := tm.nodes[0], tm.nodes[1]
	one.lead(1)
	big := bytesOf(5, 2*ChunkSize)
	one.mustPut("f", big, 1)
	h := HashOf(big[:ChunkSize])
	if err := os.WriteFile(filepath.Join(two.dir, chunkFolder, h.String()), []byte("rotten"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := two.content("f"); !errors.Is(err, ErrDamaged) {
		t.Errorf("a rotten chunk: %v", err)
	}
	two.until("it is whole again", func() bool { return two.has("f", big) })
}

// A peer that is not who the configuration says counts for nothing: else one node that
// is named twice would be two copies.
func TestAPeerIsWhoItSays(t *testing.T) {
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
		t.Errorf("confirmed by somebody else: %v", err)
	}
}

// A follower that has lost some of what it holds does not say what it holds: what it
// says could become everybody's.
func TestADamagedFollowerHasNoVote(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, nil)
	one, two, three := tm.nodes[0], tm.nodes[1], tm.nodes[2]
	first := one.lead(1)
	one.mustPut("f", []byte("1"), 2)
	_ = first.end()
	one.cut()
	if err := two.store.discard(HashOf([]byte("1"))); err != nil {
		t.Fatal(err)
	}
	three.lead(2)
	two.until("it is asked", func() bool { return two.store.Keeper().Promised.Epoch == 2 })
	ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, errEnough)
	defer cancel()
	if _, err := three.m.Put(ctx, "g", bytes.NewReader(nil), 0); !errors.Is(err, ErrTakingOver) {
		t.Errorf("with a damaged follower alone: %v", err)
	}
	if err := two.m.Lead(ctx, fence.Standalone("s", "n2"), tokenOf(3, "n2")); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged node leads: %v", err)
	}
}

// Whoever does not lead says so before it takes the content.
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
		t.Errorf("put: %v, %d bytes are left", err, content.left)
	}
	if !n.has("f", []byte("1")) || n.m.Status().Leading {
		t.Errorf("%+v", n.m.Status())
	}
	stop()
	<-over
}

// A leader whose disk has lost something resigns, and its successor makes it whole.
func TestARottenLeaderResigns(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(1))
	one, two := tm.nodes[0], tm.nodes[1]
	first := one.lead(1)
	big := bytesOf(5, 2*ChunkSize)
	one.mustPut("f", big, 1)
	if err := os.WriteFile(filepath.Join(one.dir, chunkFolder, HashOf(big[:ChunkSize]).String()), []byte("rotten"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := one.content("f"); !errors.Is(err, ErrDamaged) {
		t.Errorf("a rotten chunk: %v", err)
	}
	first.ends(t)
	if !errors.Is(first.err, ErrDamaged) {
		t.Errorf("it ended with %v", first.err)
	}
	two.lead(2)
	one.until("it is whole again", func() bool { return one.has("f", big) })
}

// A node alone has nobody to get anything from: it goes on without what has rotted.
func TestARottenNodeAlone(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	first := n.lead(1)
	n.mustPut("f", []byte("1"), 0)
	n.mustPut("g", []byte("2"), 0)
	if err := n.store.discard(HashOf([]byte("1"))); err != nil {
		t.Fatal(err)
	}
	n.mustPut("h", []byte("3"), 0)
	_ = first.end()
	n.lead(2)
	n.mustPut("i", []byte("4"), 0)
	if _, err := n.m.Remove(t.Context(), "f", 0); err != nil || !n.has("g", []byte("2")) || !n.store.Whole() {
		t.Errorf("removing what has rotted: %v", err)
	}
}

// A peer that lacks nothing and takes nothing is left alone for a while, as one that fails.
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
		if !strings.Contains(err.Error(), "lacks nothing") {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Errorf("nothing is said after %d offers", offers.Load())
	}
}

// A leader that is asked to hear a later one knows at once that it is none any more.
func TestWhoHearsALaterLeaderEnds(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(0))
	one, two := tm.nodes[0], tm.nodes[1]
	one.m.cfg.Repair = time.Hour // it would else find out by itself
	first := one.lead(1)
	one.mustPut("f", nil, 1)
	one.mustPut("g", nil, 1)
	later := client{cfg: two.m.cfg, reign: Reign{9, fence.Term{9}}}
	if held, err := later.promise(t.Context(), one.id); err != nil || held != (Version{1, 2}) {
		t.Errorf("it holds %s, %v", held, err)
	}
	first.ends(t)
	if stale, ok := errors.AsType[*StaleError](first.err); !ok || stale.Holder != two.id {
		t.Errorf("it ended with %v", first.err)
	}
}
