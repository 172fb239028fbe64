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

// S22: followers hold the leader's files of any size, byte for byte.
func TestFollowersHoldTheLeadersFiles(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, new(2))
	one := tm.nodes[0]
	one.lead(1)
	contents := map[string][]byte{
		"empty": {}, "small": []byte("hello"), "a/b/exact": bytesOf(1, ChunkSize), "more": bytesOf(2, ChunkSize+1),
		"large": bytesOf(3, 3*ChunkSize-7), "zeros": make([]byte, 2*ChunkSize),
	}
	for name, content := range contents {
		one.mustPut(name, content, AsConfigured)
		for _, n := range tm.nodes {
			if !n.has(name, content) {
				t.Errorf("%s does not hold %s, which all nodes acknowledged", n.id, name)
			}
		}
	}
	if _, err := one.m.Remove(t.Context(), "large", AsConfigured); err != nil {
		t.Fatal(err)
	}
	for _, n := range tm.nodes {
		if _, err := n.content("large"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: a removed file: got %v, want ErrNotFound", n.id, err)
		}
		s := n.m.Status()
		if s.Holder != "n1" || s.Version != (Version{1, 7}) || time.Since(s.AsOf) > patience || s.Leading != (n == one) {
			t.Errorf("%s: got status %+v, want holder n1 and version 1.7", n.id, s)
		}
		entries, err := os.ReadDir(filepath.Join(n.dir, chunkFolder))
		if err != nil || len(entries) != 5 { // hello, exact, two of more, one of zeros
			t.Errorf("%s: got %d chunks, %v, want 5", n.id, len(entries), err)
		}
		for _, e := range entries {
			if !isHex(e.Name()) {
				t.Errorf("the chunk folder has the file %s", e.Name())
			}
		}
	}
}

// S22: a successor that never got an acknowledged write finds it on another follower. A write
// that only its predecessor had is lost.
func TestASuccessorFindsWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, nil)
	one, two, three := tm.nodes[0], tm.nodes[1], tm.nodes[2]
	first := one.lead(1)
	one.mustPut("old", []byte("old"), 2)
	heal := three.cut()
	big := bytesOf(7, 3*ChunkSize+5)
	one.mustPut("new", big, AsConfigured) // two gets it, three does not
	healTwo := two.cut()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errEnough)
	defer cancel()
	receipt, err := one.m.Put(ctx, "lonely", bytes.NewReader([]byte("x")), AsConfigured)
	if !errors.Is(err, ErrUnconfirmed) || !errors.Is(err, errEnough) || receipt.Copies != 0 || !one.has("lonely", []byte("x")) {
		t.Errorf("put without any follower: got %+v, %v, want ErrUnconfirmed", receipt, err)
	}
	if err := first.end(); !errors.Is(err, errEnough) {
		t.Errorf("the leader ended with %v, want %v", err, errEnough)
	}
	healOne := one.cut()
	heal()
	healTwo()
	if three.has("new", big) {
		t.Fatal("three has the file already: this test is blind")
	}
	three.lead(2)
	three.until("it leads with what two had", func() bool { return three.m.Status().Leading && three.has("new", big) })
	if v := three.m.Status().Version; v != (Version{2, 0}) {
		t.Errorf("the successor begins with version %s, want 2.0", v)
	}
	healOne()
	one.until("it follows", func() bool { return one.m.Status().Version == Version{2, 0} })
	if _, err := one.content("lonely"); !errors.Is(err, ErrNotFound) || !one.has("new", big) {
		t.Errorf("a file that only the old leader had: got %v, want ErrNotFound", err)
	}
}

// A takeover takes no writes until enough peers have answered. Reads go on.
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
		t.Errorf("put without any answer: got %v, want ErrTakingOver", err)
	}
	healTwo()
	three.mustPut("f", []byte("2"), 1)
	healOne()
	one.until("it follows", func() bool { return one.has("f", []byte("2")) })
}

// S22, S15: a deposed leader whose gate never shuts changes no follower, and then ends.
func TestADeposedLeaderIsRefused(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, new(1))
	one, two, three := tm.nodes[0], tm.nodes[1], tm.nodes[2]
	first := one.lead(1)
	one.mustPut("f", []byte("1"), 2)
	healOne := one.cut() // it can send, but no request reaches it
	two.lead(2)
	two.mustPut("f", []byte("2"), 1)
	three.until("it follows two", func() bool { return three.has("f", []byte("2")) })
	if err := one.put("f", []byte("stale"), 1); !errors.Is(err, ErrUnconfirmed) && !errors.Is(err, fence.ErrShut) && !errors.Is(err, fence.ErrStale) {
		t.Errorf("the deposed leader's write succeeded or failed otherwise: %v", err)
	}
	first.ends(t)
	if !errors.Is(first.err, fence.ErrStale) {
		t.Errorf("the deposed leader ended with %v, want ErrStale", first.err)
	}
	for _, n := range []*node{two, three} {
		if !n.has("f", []byte("2")) {
			t.Errorf("%s has other content than its leader put", n.id)
		}
	}
	healOne()
	one.until("it converges", func() bool { return one.has("f", []byte("2")) })
}

// A follower promises one of two leaders of one epoch, as two histories of a database mint.
func TestTwoTermsOfOneEpoch(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(0))
	one := tm.nodes[0]
	if _, err := one.store.raise(Tenure{3, fence.Term{1}}, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := one.store.raise(Tenure{3, fence.Term{2}}, "b"); !errors.Is(err, fence.ErrStale) {
		t.Errorf("the other term: got %v, want ErrStale", err)
	}
	if _, err := one.store.raise(Tenure{3, fence.Term{1}}, "a"); err != nil {
		t.Errorf("the same term again: %v", err)
	}
}

// A write on a follower is refused with the name of the leader and changes nothing.
func TestAFollowersWrite(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, nil)
	tm.nodes[0].lead(1)
	tm.nodes[0].mustPut("f", []byte("1"), 1)
	var shut *fence.ShutError
	if _, err := tm.nodes[1].m.Put(t.Context(), "f", bytes.NewReader([]byte("2")), 0); !errors.As(err, &shut) || shut.Holder != "n1" {
		t.Errorf("put: got %v, want a ShutError with holder n1", err)
	}
	if _, err := tm.nodes[1].m.Remove(t.Context(), "f", 0); !errors.Is(err, fence.ErrShut) {
		t.Errorf("remove: got %v, want ErrShut", err)
	}
	for _, n := range tm.nodes {
		if !n.has("f", []byte("1")) {
			t.Errorf("%s: the file is changed", n.id)
		}
	}
}

// A shut gate stops a leader that does not know yet that it has ended.
func TestAShutGateSendsNothing(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(0))
	one, two := tm.nodes[0], tm.nodes[1]
	gate, latch := fence.New("s", nil)
	latch.Open(tokenOf(1, "n1"), 0, fence.Boottime()) // late from the beginning
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); _ = one.m.Lead(ctx, gate, tokenOf(1, "n1")) }()
	one.until("it leads", func() bool { l := one.m.lead.Load(); return l != nil && l.await(ctx, (*machine).Leading) == nil })
	if _, err := one.m.Put(ctx, "f", bytes.NewReader(nil), 0); !errors.Is(err, fence.ErrLate) {
		t.Errorf("put: got %v, want ErrLate", err)
	}
	stop()
	ends(t, over)
	if p := two.store.promised(); p.Tenure != (Tenure{}) {
		t.Errorf("a peer was asked through a shut gate: it has %+v", p)
	}
}

// A leader that promises a later one ends at once.
func TestALeaderThatPromisesALaterOneEnds(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(0))
	one, two := tm.nodes[0], tm.nodes[1]
	one.m.cfg.Repair = time.Hour // otherwise it would find out by its next offer
	first := one.lead(1)
	one.mustPut("f", nil, 1)
	one.mustPut("g", nil, 1)
	later := client{cfg: two.m.cfg, tenure: Tenure{9, fence.Term{9}}}
	if held, _, err := later.promise(t.Context(), one.id); err != nil || held != (Version{1, 2}) {
		t.Errorf("the leader reports version %s, %v, want 1.2", held, err)
	}
	first.ends(t)
	if stale, ok := errors.AsType[*StaleError](first.err); !ok || stale.Holder != two.id {
		t.Errorf("the leader ended with %v, want a StaleError with holder n2", first.err)
	}
}

// A leader whose folder was replaced while it kept its token goes on behind what its followers hold
// of it. Otherwise its next versions would be old to them, and count as held.
func TestALeaderThatBeginsAgainWithItsToken(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, nil)
	one := tm.nodes[0]
	first := one.lead(1)
	for _, name := range []string{"a", "b", "c"} {
		one.mustPut(name, []byte(name), 2)
	}
	_ = first.end()
	_ = one.store.Close()
	one.dir = t.TempDir()
	one.start()
	one.lead(1)
	one.mustPut("d", []byte("d"), 2)
	for _, n := range tm.nodes {
		for _, name := range []string{"a", "b", "c", "d"} {
			if !n.has(name, []byte(name)) {
				t.Errorf("%s was acknowledged by all, and %s does not have it", name, n.id)
			}
		}
	}
}

// If a follower holds more of a leader's own versions than the leader does, that leader has lost
// some. It ends, before the next ones count as held.
func TestALeaderThatHasLostItsOwnVersions(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(0))
	one, two := tm.nodes[0], tm.nodes[1]
	l, _ := one.loopOf(1)
	for s, seq := range map[*Store]int64{one.store: 1, two.store: 5} {
		if _, _, err := s.take(catalog{Tenure: l.tenure, Seq: seq}, one.id, false); err != nil {
			t.Fatal(err)
		}
	}
	if in, ok := l.perform(t.Context(), offer{two.id, Version{1, 1}}).(deposed); !ok || !errors.Is(context.Cause(l.over), ErrDamaged) {
		t.Errorf("the offer: got %+v, and the leadership ended with %v, want deposed and ErrDamaged", in, context.Cause(l.over))
	}
}
