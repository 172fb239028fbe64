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

// lose removes a chunk from the disk and lets the node notice it.
func (n *node) lose(content []byte) error {
	path := n.chunkPath(content)
	if err := os.Remove(path); err != nil {
		return err
	}
	if _, err := n.store.chunk(hashOf(content)); !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("reading a lost chunk: %w", err)
	}
	return nil
}

func (n *node) chunkPath(content []byte) string {
	return filepath.Join(n.dir, chunkFolder, hashOf(content).String())
}

// harms are faults of a disk. A folder, like a file with a lost block, opens but fails reads.
var harms = map[string]func(path string) error{
	"gone":       os.Remove,
	"unreadable": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	"rotten":     func(path string) error { return os.WriteFile(path, []byte("rotten"), 0o600) },
	"empty":      func(path string) error { return os.Truncate(path, 0) },
}

// A follower's damaged chunk is noticed by a read, never served, and pushed again.
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
				t.Errorf("reading a damaged file: got %v, want ErrDamaged", err)
			}
			two.until("it is whole again", func() bool { return two.has("f", big) })
		})
	}
}

// A follower that has lost a chunk only reports its version. No leader adopts its catalog,
// or an older one while too few other peers have answered.
func TestADamagedFollowerIsNotBegunWith(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 3, nil)
	one, two, three := tm.nodes[0], tm.nodes[1], tm.nodes[2]
	first := one.lead(1)
	one.mustPut("f", []byte("1"), 2)
	healThree := three.cut()
	one.mustPut("f", []byte("2"), 1) // two gets it, three does not
	_ = first.end()
	healOne := one.cut()
	healThree()
	if err := two.lose([]byte("2")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, errEnough)
	defer cancel()
	if err := two.m.Lead(ctx, fence.Standalone("s", "n2"), tokenOf(2, "n2")); !errors.Is(err, ErrDamaged) {
		t.Errorf("Lead on a damaged node: got %v, want ErrDamaged", err)
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
		t.Errorf("put with an answer of a damaged follower alone: got %v, want ErrTakingOver", err)
	}
	healOne()
	three.until("it begins with what was acknowledged", func() bool { return three.m.Status().Leading && three.has("f", []byte("2")) })
	two.until("it is whole again", func() bool { return two.has("f", []byte("2")) })
}

// One intact node repairs all others, however many have lost a chunk.
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

// A leader whose disk has lost a chunk resigns, and its successor repairs it.
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
				t.Errorf("reading a damaged file: got %v, want ErrDamaged", err)
			}
			first.ends(t)
			if !errors.Is(first.err, ErrDamaged) {
				t.Errorf("the leadership ended with %v, want ErrDamaged", first.err)
			}
			two.lead(2)
			one.until("it is whole again", func() bool { return one.has("f", big) })
		})
	}
}

// A node without peers cannot restore a rotten chunk and goes on without it.
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
		t.Errorf("removing the rotten file: got %v, and the other files are not whole or missing", err)
	}
}

// A slow reader of a damaged chunk does not remove one that was restored meanwhile.
func TestARepairedChunkStays(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	n.lead(1)
	content := []byte("1")
	n.mustPut("f", content, 0)
	if got, err := n.store.giveUp(hashOf(content)); err != nil || !bytes.Equal(got, content) || !n.has("f", content) {
		t.Errorf("got %q, %v, want the restored chunk %q", got, err, content)
	}
}

// An error that says nothing of a chunk, such as too many open files, is not damage.
func TestAnErrorThatSaysNothingOfTheChunk(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(1))
	one, two := tm.nodes[0], tm.nodes[1]
	l, _ := one.loopOf(1)
	content := []byte("1")
	if err := errors.Join(one.store.add(content), os.Remove(one.chunkPath(content))); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(one.chunkPath(content), one.chunkPath(content)); err != nil { // opening it fails with ELOOP
		t.Fatal(err)
	}
	if _, err := one.store.chunk(hashOf(content)); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("reading the chunk: got %v, want an error other than ErrDamaged", err)
	}
	if _, there := one.store.have[hashOf(content)]; !there {
		t.Error("the chunk is given up")
	}
	if in, ok := l.perform(t.Context(), send{two.id, hashOf(content)}).(failed); !ok || l.over.Err() != nil {
		t.Errorf("sending the chunk: got %+v, and the leadership ended with %v, want failed and no end", in, context.Cause(l.over))
	}
}

// A chunk that a reader keeps and that a change names again is not swept when the reader ends before
// the change is stored, although nothing was missing. The catalog would name what is gone.
func TestAChunkThatComesBackIsNotSwept(t *testing.T) {
	t.Parallel()
	c := newScene()
	s := c.begins(t, t.TempDir())
	defer func() { _ = s.Close() }()
	reading, err := s.open("gone")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.push(s, c.after, c.fresh); err != nil {
		t.Fatal(err)
	}
	ended := false
	s.disk.trip = func(op, _ string) error {
		if op == "append" {
			ended = true
			return reading.Close()
		}
		return nil
	}
	by := c.after.write("back", &File{Size: 100, Chunks: []Hash{hashOf(c.old)}})
	if missing, held, err := s.follow(by, "leader", false); err != nil || len(missing) > 0 || held != by.Version() || !ended {
		t.Fatalf("got %d missing chunks, %s, %v, the reader ended: %v", len(missing), held, err, ended)
	}
	if _, err := s.chunk(hashOf(c.old)); err != nil || !s.whole() {
		t.Errorf("reading what was just acknowledged: got %v", err)
	}
}

// A store that is closed touches the folder no more: another process may have it, and a chunk that
// is stray here may be one of its files there.
func TestAClosedStoreSweepsNothing(t *testing.T) {
	t.Parallel()
	c := newScene()
	for name, late := range map[string]func(s *Store, reading *Content) error{
		"a reader ends":     func(_ *Store, reading *Content) error { return reading.Close() },
		"an adoption wants": func(s *Store, _ *Content) error { s.want(c.after); return nil },
	} {
		dir := t.TempDir()
		s := c.begins(t, dir)
		reading, err := s.open("gone")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.push(s, c.after, c.fresh); err != nil {
			t.Fatal(err)
		}
		if name != "a reader ends" {
			s.disk.trip = func(op, _ string) error { // so that the chunk stays stray
				if op == "remove" {
					return errKilled
				}
				return nil
			}
			_ = reading.Close()
			s.disk.trip = nil
		}
		_ = s.Close()
		next := openWith(t, dir, &killer{left: -1})
		if _, _, err := next.follow(c.after.write("back", &File{Size: 100, Chunks: []Hash{hashOf(c.old)}}), "leader", false); err != nil {
			t.Fatal(err)
		}
		if err := late(s, reading); err != nil {
			t.Fatal(err)
		}
		if _, err := next.chunk(hashOf(c.old)); err != nil {
			t.Errorf("%s late: got %v", name, err)
		}
		_ = next.Close()
	}
}

// A store that is closed while a chunk is synced gives it no name.
func TestAClosedStorePlacesNothing(t *testing.T) {
	t.Parallel()
	s := openWith(t, t.TempDir(), &killer{left: -1})
	s.disk.trip = func(op, _ string) error {
		if op == "sync" {
			return s.Close()
		}
		return nil
	}
	if err := s.add([]byte("late")); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	if all, err := s.disk.chunks(); err != nil || len(all) != 0 {
		t.Errorf("got %d chunks, %v, want none", len(all), err)
	}
}

// Names of chunks that could not be synced are synced with the next try, before a line names them.
func TestNamesThatCouldNotBeSynced(t *testing.T) {
	t.Parallel()
	c := newScene()
	by := c.change()
	k := &killer{left: -1}
	s := openWith(t, t.TempDir(), k)
	defer func() { _ = s.Close() }()
	if err := c.push(s, c.before, c.old, c.shared); err != nil {
		t.Fatal(err)
	}
	failed := false
	s.disk.trip = func(op, name string) error {
		if op == "syncdir" && name == chunkFolder && !failed {
			failed = true
			return errKilled
		}
		return k.trip(op, name)
	}
	if err := c.pushChange(s, by, c.fresh); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	k.seen = nil
	if err := c.pushChange(s, by, c.fresh); err != nil || len(k.seen) < 2 || k.seen[0] != "syncdir "+chunkFolder || k.seen[1] != "append "+catalogFile {
		t.Errorf("the next push: got %v, and the operations %q", err, k.seen)
	}
}
