package chunksync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
)

// lose takes a chunk off the disk, and has the node notice it.
func (n *node) lose(content []byte) error {
	path := n.chunkPath(content)
	if err := os.Remove(path); err != nil {
		return err
	}
	if _, err := n.store.chunk(hashOf(content)); !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("a lost chunk: %w", err)
	}
	return nil
}

func (n *node) chunkPath(content []byte) string {
	return filepath.Join(n.dir, chunkFolder, hashOf(content).String())
}

// What a disk can do to a chunk. A folder in its place can be opened and not be read,
// as can a file of which the disk has lost a block.
var harms = map[string]func(path string) error{
	"gone":       os.Remove,
	"unreadable": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	"rotten":     func(path string) error { return os.WriteFile(path, []byte("rotten"), 0o600) },
	"empty":      func(path string) error { return os.Truncate(path, 0) },
}

// What is damaged on a follower's disk is noticed when it is read, never served, and
// pushed again.
func TestRotIsRepaired(t *testing.T) {
	t.Parallel()
	for name, harm := range harms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tm := newTeam(t, 2, new(1))
			one, two := tm.nodes[0], tm.nodes[1]
			one.lead(1)
			big := bytesOf(5, 2*ChunkSize)
			one.mustPut("f", big, 1)
			if err := harm(two.chunkPath(big[:ChunkSize])); err != nil {
				t.Fatal(err)
			}
			if _, err := two.content("f"); !errors.Is(err, ErrDamaged) {
				t.Errorf("it is read: %v", err)
			}
			two.until("it is whole again", func() bool { return two.has("f", big) })
		})
	}
}

// A follower that has lost some of what it holds says only what there was: nobody begins
// with less while too few others are heard, and nobody begins with what it has.
func TestADamagedFollowerIsNotBegunWith(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, nil)
	one, two, three := tm.nodes[0], tm.nodes[1], tm.nodes[2]
	first := one.lead(1)
	one.mustPut("f", []byte("1"), 2)
	healThree := three.cut()
	one.mustPut("f", []byte("2"), 1) // on two, and not on three
	_ = first.end()
	healOne := one.cut()
	healThree()
	if err := two.lose([]byte("2")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, errEnough)
	defer cancel()
	if err := two.m.Lead(ctx, fence.Standalone("s", "n2"), tokenOf(2, "n2")); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged node leads: %v", err)
	}
	var said atomic.Bool
	three.m.cfg.Events.Trouble = func(peer string, err error) {
		if peer == two.id && errors.Is(err, ErrDamaged) {
			said.Store(true)
		}
	}
	three.lead(3)
	three.until("it is told so", said.Load)
	three.until("it has begun", func() bool { return three.m.lead.Load() != nil })
	if _, err := three.m.Put(ctx, "g", bytes.NewReader(nil), 0); !errors.Is(err, ErrTakingOver) {
		t.Errorf("with a damaged follower alone: %v", err)
	}
	healOne()
	three.until("it begins with what was acknowledged", func() bool { return three.m.Status().Leading && three.has("f", []byte("2")) })
	two.until("it is whole again", func() bool { return two.has("f", []byte("2")) })
}

// One whole node that lacks nothing makes all others whole, however many have lost
// something.
func TestOneWholeNodeIsEnough(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, nil)
	one, two, three := tm.nodes[0], tm.nodes[1], tm.nodes[2]
	first := one.lead(1)
	one.mustPut("f", []byte("1"), 2)
	one.mustPut("g", []byte("2"), 2)
	_ = first.end()
	if err := errors.Join(one.lose([]byte("1")), three.lose([]byte("2"))); err != nil {
		t.Fatal(err)
	}
	two.lead(2)
	for _, n := range tm.nodes {
		n.until("it is whole", func() bool { return n.store.whole() && n.has("f", []byte("1")) && n.has("g", []byte("2")) })
	}
	two.mustPut("h", []byte("3"), AsConfigured)
}

// A leader whose disk has lost something resigns, and its successor makes it whole.
func TestARottenLeaderResigns(t *testing.T) {
	t.Parallel()
	for name, harm := range harms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tm := newTeam(t, 2, new(1))
			one, two := tm.nodes[0], tm.nodes[1]
			first := one.lead(1)
			big := bytesOf(5, 2*ChunkSize)
			one.mustPut("f", big, 1)
			if err := harm(one.chunkPath(big[:ChunkSize])); err != nil {
				t.Fatal(err)
			}
			if _, err := one.content("f"); !errors.Is(err, ErrDamaged) {
				t.Errorf("it is read: %v", err)
			}
			first.ends(t)
			if !errors.Is(first.err, ErrDamaged) {
				t.Errorf("it ended with %v", first.err)
			}
			two.lead(2)
			one.until("it is whole again", func() bool { return one.has("f", big) })
		})
	}
}

// A node alone has nobody to get anything from: it goes on without what has rotted.
func TestARottenNodeAlone(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	first := n.lead(1)
	n.mustPut("f", []byte("1"), 0)
	n.mustPut("g", []byte("2"), 0)
	if err := n.lose([]byte("1")); err != nil {
		t.Fatal(err)
	}
	n.mustPut("h", []byte("3"), 0)
	_ = first.end()
	n.lead(2)
	n.mustPut("i", []byte("4"), 0)
	if _, err := n.m.Remove(t.Context(), "f", 0); err != nil || !n.has("g", []byte("2")) || !n.store.whole() {
		t.Errorf("removing what has rotted: %v", err)
	}
}

// Of two that read one damaged chunk the slower does not take away what has come
// meanwhile: it reads that.
func TestWhatHasComeAgainStays(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	n.lead(1)
	content := []byte("1")
	n.mustPut("f", content, 0)
	if got, err := n.store.giveUp(hashOf(content)); err != nil || !bytes.Equal(got, content) || !n.has("f", content) {
		t.Errorf("%q, %v", got, err)
	}
}

// What says nothing of a chunk, such as that too many files are open, is no damage:
// nothing is given up, and nobody resigns.
func TestWhatIsNotTheChunksFault(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(1))
	one, two := tm.nodes[0], tm.nodes[1]
	l, _ := one.loopOf(1)
	content := []byte("1")
	if err := errors.Join(one.store.add(hashOf(content), content), os.Remove(one.chunkPath(content))); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(one.chunkPath(content), one.chunkPath(content)); err != nil { // opened, it leads to itself
		t.Fatal(err)
	}
	if _, err := one.store.chunk(hashOf(content)); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("it is read: %v", err)
	}
	if _, there := one.store.have[hashOf(content)]; !there {
		t.Error("it is given up")
	}
	if in, ok := l.perform(t.Context(), send{two.id, hashOf(content)}).(failed); !ok || l.over.Err() != nil {
		t.Errorf("it is sent: %+v, %v", in, context.Cause(l.over))
	}
}
