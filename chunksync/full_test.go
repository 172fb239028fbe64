package chunksync

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// small makes the node's disk one of so many bytes.
func (n *node) small(room int64) {
	n.store.disk.trip = func(op, _ string) error {
		if op != "write" {
			return nil
		}
		var used int64
		_ = filepath.WalkDir(n.dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				if info, err := d.Info(); err == nil { // else it is gone by now
					used += info.Size()
				}
			}
			return nil
		})
		if used+ChunkSize > room {
			return syscall.ENOSPC
		}
		return nil
	}
}

// held counts the chunks that the node has.
func (n *node) held() int {
	n.store.mu.RLock()
	defer n.store.mu.RUnlock()
	return len(n.store.have)
}

// An upload that is larger than the disk leaves nothing there: what fits is taken
// afterwards, and files can be removed.
func TestAnUploadThatIsTooLargeForTheDisk(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	n.small(8 * ChunkSize)
	n.lead(1)
	n.mustPut("small", []byte("1"), 0)
	if err := n.put("huge", bytesOf(1, 12*ChunkSize), 0); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("12 of 8: %v", err)
	}
	if n.held() != 1 {
		t.Errorf("%d chunks are left", n.held())
	}
	n.mustPut("medium", bytesOf(2, 2*ChunkSize), 0)
	if _, err := n.m.Remove(t.Context(), "small", 0); err != nil {
		t.Errorf("remove: %v", err)
	}
}

// So does one whose catalog could not be written any more.
func TestACatalogThatIsTooLargeForTheDisk(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	n.lead(1)
	n.mustPut("f", []byte("1"), 0)
	drafts := 0
	n.store.disk.trip = func(op, _ string) error {
		if op == "create" {
			if drafts++; drafts == 2 { // the first is the content
				return syscall.ENOSPC
			}
		}
		return nil
	}
	if err := n.put("g", []byte("2"), 0); !errors.Is(err, syscall.ENOSPC) || n.held() != 1 {
		t.Errorf("%d chunks are left, %v", n.held(), err)
	}
	n.mustPut("g", []byte("2"), 0)
}

// What a follower got of a file that is no more makes room for the next, also where the
// disk has no room for a catalog.
func TestAFollowerFullOfWhatIsNoMore(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(0))
	one, two := tm.nodes[0], tm.nodes[1]
	two.small(8*ChunkSize + 4096)
	one.lead(1)
	one.mustPut("small", []byte("1"), 1)
	one.mustPut("huge", bytesOf(1, 12*ChunkSize), 0)
	two.until("it is full", func() bool { return two.held() >= 7 })
	if _, err := one.m.Remove(t.Context(), "huge", 0); err != nil {
		t.Fatal(err)
	}
	one.mustPut("medium", bytesOf(2, 2*ChunkSize), 0)
	two.until("it has what fits", func() bool { return two.has("medium", bytesOf(2, 2*ChunkSize)) })
	if two.held() != 3 {
		t.Errorf("%d chunks are left", two.held())
	}
}

// A disk that is so full that not even a promise fits gives up what has arrived of a
// file that it could not take anyway: else it would never hear the next leader.
func TestAPromiseOnAFullDisk(t *testing.T) {
	t.Parallel()
	c := newScene()
	s := openWith(t, t.TempDir(), &killer{left: -1})
	defer func() { _ = s.Close() }()
	if err := c.push(s, c.before, c.old, c.shared); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.take(c.after, "leader", false); err != nil {
		t.Fatal(err)
	}
	if err := s.receive(c.after.Tenure, hashOf(c.fresh), c.fresh); err != nil {
		t.Fatal(err)
	}
	s.disk.trip = func(op, _ string) error {
		if entries, err := os.ReadDir(s.disk.path(chunkFolder)); op == "create" && (err != nil || len(entries) > 2) {
			return errors.Join(err, syscall.ENOSPC)
		}
		return nil
	}
	if p, err := s.raise(Tenure{Epoch: 3}, "next"); err != nil || p.Tenure.Epoch != 3 {
		t.Errorf("%+v, %v", p, err)
	}
	if !s.whole() {
		t.Error("it has given up what it shows")
	}
}

// A node alone that restarts has no room taken by what broke off.
func TestWhatBrokeOffIsGoneAfterARestart(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	first := n.lead(0)
	n.mustPut("f", []byte("1"), 0)
	_ = first.end()
	if err := n.store.add(hashOf([]byte("2")), []byte("2")); err != nil {
		t.Fatal(err)
	}
	_ = n.store.Close() // killed in an upload
	n.start()
	n.lead(0)
	n.until("it leads", func() bool { return n.m.Status().Leading })
	if n.held() != 1 {
		t.Errorf("%d chunks are left", n.held())
	}
}

// What was fetched to begin with stays when the line to the peer breaks: it is not
// fetched again.
func TestAnAdoptionGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(1))
	one, two := tm.nodes[0], tm.nodes[1]
	l, _ := one.loopOf(2)
	fetched, lost := []byte("1"), []byte("2")
	for _, content := range [][]byte{fetched, lost} {
		if err := two.store.add(hashOf(content), content); err != nil {
			t.Fatal(err)
		}
	}
	c := catalog{Tenure: l.tenure, Files: map[string]File{
		"f": {Size: 1, Chunks: []Hash{hashOf(fetched)}}, "g": {Size: 1, Chunks: []Hash{hashOf(lost)}},
	}}
	if err := os.Rename(two.chunkPath(lost), two.chunkPath(lost)+".away"); err != nil {
		t.Fatal(err)
	}
	l.Parallel = 1 // in the order of names
	if _, err := l.fetch(t.Context(), two.id, c); err == nil {
		t.Fatal("nothing is lost: this test is blind")
	}
	if one.held() != 1 {
		t.Errorf("%d chunks are left of what was fetched", one.held())
	}
}

// A write that asks for more copies than there can be is refused before its content is
// taken.
func TestCopiesThatCanNotBeHad(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	n.lead(1)
	n.mustPut("f", []byte("1"), 0)
	content := strings.NewReader("2")
	if _, err := n.m.Put(t.Context(), "f", content, 1); !errors.Is(err, ErrCopies) || content.Len() != 1 {
		t.Errorf("put: %v, %d bytes are left", err, content.Len())
	}
	if _, err := n.m.Remove(t.Context(), "f", -2); !errors.Is(err, ErrCopies) || !n.has("f", []byte("1")) {
		t.Errorf("remove: %v", err)
	}
}

// An upload that broke off is swept once, and touches nothing else: each piece is tried
// one time, though the disk does not let go of it.
func TestABrokenUploadIsSweptOnce(t *testing.T) {
	t.Parallel()
	const pieces = 8
	s := openWith(t, t.TempDir(), &killer{left: -1})
	defer func() { _ = s.Close() }()
	c := newScene()
	if err := c.push(s, c.before, c.old, c.shared); err != nil {
		t.Fatal(err)
	}
	reading, err := s.open("gone")
	if err != nil {
		t.Fatal(err)
	}
	_, unpin, err := s.store(bytes.NewReader(bytesOf(1, pieces*ChunkSize)), pieces*ChunkSize-1)
	if !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	if err := c.push(s, c.after, c.fresh); err != nil { // by now something waits to be swept
		t.Fatal(err)
	}
	tried := 0
	s.disk.trip = func(op, _ string) error {
		if op == "remove" {
			tried++
			return syscall.EIO
		}
		return nil
	}
	unpin()
	if tried != pieces-1 { // the last was too much, and never stored
		t.Errorf("%d chunks are tried for %d", tried, pieces-1)
	}
	_ = reading.Close()
	if tried != pieces {
		t.Errorf("%d chunks are tried when one more is let go", tried-pieces+1)
	}
}
