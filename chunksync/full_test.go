package chunksync

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

// limitDisk fails writes once the node's folder has room bytes. Writes at the same time do not see each other, and may exceed it together.
func (n *node) limitDisk(room int64) {
	n.store.disk.trip = func(op, _ string) error {
		if op != "write" {
			return nil
		}
		var used int64
		_ = filepath.WalkDir(n.dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				if info, err := d.Info(); err == nil { // otherwise it was just removed
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

// chunkCount returns the number of chunks that the node has.
func (n *node) chunkCount() int {
	n.store.mu.RLock()
	defer n.store.mu.RUnlock()
	return len(n.store.have)
}

// An upload that exceeds the disk leaves no chunk, and smaller ones succeed afterwards.
func TestAnUploadThatIsTooLargeForTheDisk(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	n.limitDisk(4 * ChunkSize)
	n.lead(1)
	n.mustPut("small", []byte("1"), 0)
	if err := n.put("huge", bytesOf(1, 6*ChunkSize), 0); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("6 MiB on a disk of 4: got %v, want ENOSPC", err)
	}
	if n.chunkCount() != 1 {
		t.Errorf("got %d chunks, want 1", n.chunkCount())
	}
	n.mustPut("medium", bytesOf(2, 2*ChunkSize), 0)
	if _, err := n.m.Remove(t.Context(), "small", 0); err != nil {
		t.Errorf("remove on a full disk: %v", err)
	}
}

// An upload whose catalog does not fit on the disk leaves no chunk either.
func TestACatalogThatIsTooLargeForTheDisk(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	n.lead(1)
	n.mustPut("f", []byte("1"), 0)
	full := true
	n.store.disk.trip = func(op, _ string) error {
		if op == "append" && full {
			full = false
			return syscall.ENOSPC
		}
		return nil
	}
	if err := n.put("g", []byte("2"), 0); !errors.Is(err, syscall.ENOSPC) || n.chunkCount() != 1 {
		t.Errorf("got %d chunks, %v, want 1 and ENOSPC", n.chunkCount(), err)
	}
	n.mustPut("g", []byte("2"), 0)
}

// A disk without room for a whole catalog takes a line, so that a removal can make room. The log is
// begun anew once there is some.
func TestALogThatCannotBeBegunAnew(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	n.lead(1)
	n.mustPut("f", bytesOf(1, 100), 0)
	n.mustPut("g", bytesOf(2, 100), 0)
	n.store.writing.Lock()
	n.store.begun = -leastLog // so that the log counts as long
	began := n.store.log
	n.store.writing.Unlock()
	n.limitDisk(0)
	if _, err := n.m.Remove(t.Context(), "f", 0); err != nil || n.chunkCount() != 1 {
		t.Errorf("a removal on a full disk: got %v, and %d chunks, want 1", err, n.chunkCount())
	}
	n.limitDisk(ChunkSize * 2)
	if _, err := n.m.Remove(t.Context(), "g", 0); err != nil || n.store.log >= began {
		t.Errorf("a removal with room: got %v, and a log of %d bytes after %d", err, n.store.log, began)
	}
	_ = n.store.Close()
	n.start()
	if got := len(n.m.Status().Files); got != 0 {
		t.Errorf("got %d files after a restart, want none", got)
	}
}

// A follower with a full disk sweeps the chunks of a file that was removed in transit.
func TestAFollowerFullOfWhatIsNoMore(t *testing.T) {
	t.Parallel()
	tm := newPatientTeam(t, 2, new(0), 2*patience) // on a busy disk an exchange that times out would be sent again, for ever
	one, two := tm.nodes[0], tm.nodes[1]
	two.limitDisk(4*ChunkSize + 4096)
	one.m.cfg.Parallel = 1 // else all of huge may fit
	one.lead(1)
	one.mustPut("small", []byte("1"), 1)
	one.mustPut("huge", bytesOf(1, 6*ChunkSize), 0)
	two.until("it is full", func() bool { return two.chunkCount() >= 3 })
	if _, err := one.m.Remove(t.Context(), "huge", 0); err != nil {
		t.Fatal(err)
	}
	one.mustPut("medium", bytesOf(2, 2*ChunkSize), 0)
	two.until("it has what fits", func() bool { return two.has("medium", bytesOf(2, 2*ChunkSize)) })
	if two.chunkCount() != 3 {
		t.Errorf("got %d chunks, want 3", two.chunkCount())
	}
}

// A disk that is too full for a promise gives up the chunks in transit. Otherwise it could
// never promise the next leader.
func TestAPromiseOnAFullDisk(t *testing.T) {
	t.Parallel()
	c := newScene()
	s := c.begins(t, t.TempDir())
	defer func() { _ = s.Close() }()
	if _, _, err := s.take(c.after, "leader", false); err != nil {
		t.Fatal(err)
	}
	if err := s.receive(c.after.Tenure, hashOf(c.fresh), bytes.NewReader(c.fresh)); err != nil {
		t.Fatal(err)
	}
	s.disk.trip = func(op, _ string) error {
		if entries, err := os.ReadDir(s.disk.path(chunkFolder)); op == "create" && (err != nil || len(entries) > 2) {
			return errors.Join(err, syscall.ENOSPC)
		}
		return nil
	}
	if p, err := s.raise(Tenure{Epoch: 3}, "next"); err != nil || p.Tenure.Epoch != 3 {
		t.Errorf("got %+v, %v, want a promise of epoch 3", p, err)
	}
	if !s.whole() {
		t.Error("the store has given up chunks of its catalog")
	}
}

// A standalone node sweeps the chunks of a broken upload when it starts again.
func TestARestartSweepsABrokenUpload(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	first := n.lead(0)
	n.mustPut("f", []byte("1"), 0)
	_ = first.end()
	if err := n.store.add([]byte("2")); err != nil {
		t.Fatal(err)
	}
	_ = n.store.Close() // here it was killed in an upload
	n.start()
	n.lead(0)
	n.until("it leads", func() bool { return n.m.Status().Leading })
	if n.chunkCount() != 1 {
		t.Errorf("got %d chunks, want 1", n.chunkCount())
	}
}

// Chunks that an adoption has fetched stay when the connection breaks.
func TestAnAdoptionGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(1))
	one, two := tm.nodes[0], tm.nodes[1]
	l, _ := one.loopOf(2)
	fetched, lost := []byte("1"), []byte("2")
	for _, content := range [][]byte{fetched, lost} {
		if err := two.store.add(content); err != nil {
			t.Fatal(err)
		}
	}
	c := catalog{Tenure: l.tenure, Files: map[string]File{
		"f": {Size: 1, Chunks: []Hash{hashOf(fetched)}}, "g": {Size: 1, Chunks: []Hash{hashOf(lost)}},
	}}
	if err := os.Rename(two.chunkPath(lost), two.chunkPath(lost)+".away"); err != nil {
		t.Fatal(err)
	}
	l.Parallel = 1 // fetch in the order of names
	if _, err := l.fetch(t.Context(), two.id, c); err == nil {
		t.Fatal("the fetch lost nothing: this test is blind")
	}
	if one.chunkCount() != 1 {
		t.Errorf("got %d fetched chunks, want 1", one.chunkCount())
	}
}

// A write with an impossible number of copies is refused before its content is read.
func TestImpossibleCopies(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	n.lead(1)
	n.mustPut("f", []byte("1"), 0)
	content := strings.NewReader("2")
	if _, err := n.m.Put(t.Context(), "f", content, 1); !errors.Is(err, ErrCopies) || content.Len() != 1 {
		t.Errorf("put: got %v and %d unread bytes, want ErrCopies and 1", err, content.Len())
	}
	if _, err := n.m.Remove(t.Context(), "f", -2); !errors.Is(err, ErrCopies) || !n.has("f", []byte("1")) {
		t.Errorf("remove: got %v, want ErrCopies and the file unchanged", err)
	}
}

// After a broken upload, each of its chunks and no other is removed once, even in vain.
func TestABrokenUploadIsSweptOnce(t *testing.T) {
	t.Parallel()
	const pieces = 4
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
	_, unpin, err := s.addContent(bytes.NewReader(bytesOf(1, pieces*ChunkSize)), pieces*ChunkSize-1)
	if !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	if err := c.push(s, c.after, c.fresh); err != nil { // now another chunk waits to be swept
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
	if tried != pieces-1 { // the last exceeded the limit and was not stored
		t.Errorf("got %d removals, want %d", tried, pieces-1)
	}
	_ = reading.Close()
	if tried != pieces {
		t.Errorf("got %d removals after a reader closes, want 1", tried-pieces+1)
	}
}

// An upload whose connection breaks is not a file, also if the reader says so with an error that
// wraps io.EOF, as a request to another server does.
func TestHalfAnUploadIsNotAFile(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	n.lead(1)
	n.mustPut("f", []byte("whole"), 0)
	broken := fmt.Errorf("the connection broke: %w", io.EOF)
	for _, size := range []int{0, 4, ChunkSize, ChunkSize + 4} {
		half := io.MultiReader(bytes.NewReader(bytesOf(1, size)), iotest.ErrReader(broken))
		if _, err := n.m.Put(t.Context(), "f", half, 0); !errors.Is(err, broken) || !n.has("f", []byte("whole")) {
			t.Errorf("after %d bytes: got %v, and the file as before: %v", size, err, n.has("f", []byte("whole")))
		}
	}
	if _, err := n.m.Put(t.Context(), "g", iotest.DataErrReader(strings.NewReader("with its end")), 0); err != nil || n.chunkCount() != 2 {
		t.Errorf("a reader that ends with its last bytes: got %v, and %d chunks, want 2", err, n.chunkCount())
	}
}

// A chunk that the disk did not take is an error of its upload, also if it is the last one. A node
// without peers ignores what its catalog lacks, so that nothing else would notice it.
func TestAnUploadWhoseLastChunkIsNotStored(t *testing.T) {
	t.Parallel()
	for op, name := range map[string]string{"sync": newFolder, "rename": hashOf([]byte("lost")).String()} {
		n := newTeam(t, 1, nil).nodes[0]
		n.lead(1)
		n.mustPut("f", []byte("whole"), 0)
		n.store.disk.trip = func(what, which string) error {
			if what == op && which == name {
				return errKilled
			}
			return nil
		}
		if err := n.put("f", []byte("lost"), 0); !errors.Is(err, errKilled) || !n.has("f", []byte("whole")) {
			t.Errorf("%s fails: got %v, and the file as before: %v", op, err, n.has("f", []byte("whole")))
		}
	}
}
