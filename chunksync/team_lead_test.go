package chunksync

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
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
	if _, err := one.store.raise(Tenure{3, fence.Term{1}}, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := one.store.raise(Tenure{3, fence.Term{2}}, "b"); !errors.Is(err, fence.ErrStale) {
		t.Errorf("the other term: %v", err)
	}
	if _, err := one.store.raise(Tenure{3, fence.Term{1}}, "a"); err != nil {
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
	one.until("it leads", func() bool { l := one.m.lead.Load(); return l != nil && l.await(ctx, (*machine).Leading) == nil })
	if _, err := one.m.Put(ctx, "f", bytes.NewReader(nil), 0); !errors.Is(err, fence.ErrLate) {
		t.Errorf("put: %v", err)
	}
	stop()
	ends(t, over)
	if p := two.store.promised(); p.Tenure != (Tenure{}) {
		t.Errorf("it was asked all the same: %+v", p)
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
	later := client{cfg: two.m.cfg, tenure: Tenure{9, fence.Term{9}}}
	if held, _, err := later.promise(t.Context(), one.id); err != nil || held != (Version{1, 2}) {
		t.Errorf("it holds %s, %v", held, err)
	}
	first.ends(t)
	if stale, ok := errors.AsType[*StaleError](first.err); !ok || stale.Holder != two.id {
		t.Errorf("it ended with %v", first.err)
	}
}
