package chunksync

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

var errKilled = errors.New("killed here")

// killer fails all operations on the disk after the first left ones; below 0 it only records.
type killer struct {
	mu   sync.Mutex
	left int
	seen []string
}

func (k *killer) trip(op, name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left == 0 {
		return errKilled
	}
	k.left--
	k.seen = append(k.seen, op+" "+name)
	return nil
}

func openWith(t *testing.T, dir string, k *killer) *Store {
	t.Helper()
	s, err := open(disk{dir: dir, trip: k.trip})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// scene is a follower's catalog of epoch 1 and the next of epoch 2, which share content.
type scene struct {
	before, after catalog
	old, shared   []byte
	fresh         []byte
}

func newScene() *scene {
	c := &scene{old: bytesOf(1, 100), shared: bytesOf(2, ChunkSize), fresh: bytesOf(3, 200)}
	f := func(parts ...[]byte) (f File) {
		for _, p := range parts {
			f.Size += int64(len(p))
			f.Chunks = append(f.Chunks, hashOf(p))
		}
		return f
	}
	c.before = catalog{Tenure: Tenure{Epoch: 1}, Seq: 4, Files: map[string]File{"a": f(c.shared, c.old), "gone": f(c.old)}}
	c.after = catalog{Tenure: Tenure{Epoch: 2}, Seq: 1, Files: map[string]File{"a": f(c.shared, c.fresh), "b": f(c.fresh)}}
	return c
}

// change makes the scene one of a single leader, and returns the change between its catalogs.
func (c *scene) change() change {
	c.after.Tenure, c.after.Seq = c.before.Tenure, c.before.Seq+1
	return difference(c.before, c.after)
}

// begins opens a store, which then has the first catalog.
func (c *scene) begins(t *testing.T, dir string) *Store {
	t.Helper()
	s := openWith(t, dir, &killer{left: -1})
	if err := c.push(s, c.before, c.old, c.shared); err != nil {
		t.Fatal(err)
	}
	return s
}

// push does to the store what the requests of a leader do.
func (c *scene) push(s *Store, to catalog, contents ...[]byte) error {
	return pushing(s, to.Tenure, func() ([]Hash, Version, error) { return s.take(to, "leader", false) }, contents)
}

func (c *scene) pushChange(s *Store, by change, contents ...[]byte) error {
	return pushing(s, by.Tenure, func() ([]Hash, Version, error) { return s.follow(by, "leader", false) }, contents)
}

func pushing(s *Store, t Tenure, take func() ([]Hash, Version, error), contents [][]byte) error {
	missing, _, err := take()
	if err != nil || len(missing) == 0 {
		return err
	}
	for _, content := range contents {
		if slices.Contains(missing, hashOf(content)) {
			if err := s.receive(t, hashOf(content), bytes.NewReader(content)); err != nil {
				return err
			}
		}
	}
	missing, _, err = take()
	if err == nil && len(missing) > 0 {
		return fmt.Errorf("%d chunks are missing", len(missing))
	}
	return err
}

func (c *scene) check(t *testing.T, when, dir string, tenure Tenure, done bool) {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer func() { _ = s.Close() }()
	got, _ := s.latest()
	want := c.before
	if got.Version() == c.after.Version() {
		want = c.after
	} else if done {
		t.Errorf("%s: the new catalog was acknowledged and is lost", when)
	}
	if s.promised().Tenure.Epoch < tenure.Epoch || s.promised().Tenure.Epoch < got.Tenure.Epoch {
		t.Errorf("%s: a promise is forgotten: got %+v, want at least epoch %d", when, s.promised(), tenure.Epoch)
	}
	if got.Version() != want.Version() || len(got.Files) != len(want.Files) || !s.whole() {
		t.Errorf("%s: got %+v, want all of %+v", when, got, want)
	}
	for name, f := range want.Files {
		content, err := s.open(name)
		if err != nil {
			t.Errorf("%s: opening %s: %v", when, name, err)
			continue
		}
		var all bytes.Buffer
		if _, err := all.ReadFrom(content); err != nil || int64(all.Len()) != f.Size {
			t.Errorf("%s: reading %s: got %d bytes, %v, want %d", when, name, all.Len(), err, f.Size)
		}
		_ = content.Close()
	}
	if drafts, err := os.ReadDir(filepath.Join(dir, newFolder)); err != nil || len(drafts) > 0 {
		t.Errorf("%s: got %d drafts, %v, want none", when, len(drafts), err)
	}
	if err := c.push(s, c.after, c.old, c.shared, c.fresh); err != nil || s.promised().Held != c.after.Version() {
		t.Errorf("%s: the next push: got %v, and version %s", when, err, s.promised().Held)
	}
	if err := c.push(s, c.after.with("none", nil)); err != nil || len(s.have) != 2 {
		t.Errorf("%s: after the next commit: got %d chunks, %v, want 2", when, len(s.have), err)
	}
}

// The order of a commit makes it survive a crash of the machine: the promise first, then
// the content before its name, and the names before the catalog.
func TestTheOrderOfACommit(t *testing.T) {
	t.Parallel()
	c := newScene()
	k := &killer{left: -1}
	s := openWith(t, t.TempDir(), k)
	defer func() { _ = s.Close() }()
	if err := c.push(s, c.after, c.shared, c.fresh); err != nil {
		t.Fatal(err)
	}
	file := func(name string) []string { return []string{"create new", "write new", "sync new", "rename " + name} }
	more := bytesOf(4, 300)
	by := c.after.write("more", &File{Size: 300, Chunks: []Hash{hashOf(more)}})
	if err := c.pushChange(s, by, more); err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(
		file(promiseFile), []string{"syncdir " + filepath.Base(s.disk.dir)},
		file(hashOf(c.shared).String()), file(hashOf(c.fresh).String()), []string{"syncdir " + chunkFolder},
		file(catalogFile), []string{"syncdir " + filepath.Base(s.disk.dir)},
		file(hashOf(more).String()), []string{"syncdir " + chunkFolder, "append " + catalogFile, "sync " + catalogFile},
	)
	if !slices.Equal(k.seen, want) {
		t.Errorf("got the operations\n%q\nwant\n%q", k.seen, want)
	}
}

// Chunks that a killed process has placed are synced before a catalog names them.
func TestTheOrderAfterARestart(t *testing.T) {
	t.Parallel()
	c := newScene()
	dir := t.TempDir()
	s := openWith(t, dir, &killer{left: -1})
	if _, _, err := s.take(c.after, "leader", false); err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{c.shared, c.fresh} {
		if err := s.receive(c.after.Tenure, hashOf(content), bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
	}
	_ = s.Close() // here it was killed
	k := &killer{left: -1}
	s = openWith(t, dir, k)
	defer func() { _ = s.Close() }()
	if missing, _, err := s.take(c.after, "leader", false); err != nil || len(missing) > 0 {
		t.Fatalf("got %d missing chunks, %v", len(missing), err)
	}
	want := []string{"syncdir " + chunkFolder, "create new", "write new", "sync new", "rename " + catalogFile, "syncdir " + filepath.Base(dir)}
	if !slices.Equal(k.seen, want) {
		t.Errorf("got the operations\n%q\nwant\n%q", k.seen, want)
	}
}

// After a rename that may not survive a crash, the store takes nothing until it is reopened.
func TestADoubtIsNotBuiltOn(t *testing.T) {
	t.Parallel()
	c := newScene()
	dir := t.TempDir()
	k := &killer{left: 4} // the folder cannot be synced
	s := openWith(t, dir, k)
	if _, err := s.raise(Tenure{Epoch: 5}, "a"); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	k.left = -1
	if _, err := s.raise(Tenure{Epoch: 4}, "b"); err == nil {
		t.Error("the store makes another promise after an unclear error")
	}
	if err := c.push(s, c.after); err == nil {
		t.Error("the store takes a catalog after an unclear error")
	}
	_ = s.Close()
}

// With a damaged promise or catalog Open fails, since a start could forget a promise.
func TestADamagedFolder(t *testing.T) {
	t.Parallel()
	c := newScene()
	for name, damage := range map[string]func(dir string) error{
		"promise":           func(dir string) error { return os.WriteFile(filepath.Join(dir, promiseFile), []byte("{"), 0o600) },
		"catalog":           func(dir string) error { return os.WriteFile(filepath.Join(dir, catalogFile), []byte("[]"), 0o600) },
		"a missing promise": func(dir string) error { return os.Remove(filepath.Join(dir, promiseFile)) },
	} {
		dir := t.TempDir()
		s := c.begins(t, dir)
		_ = s.Close()
		if err := damage(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v, want ErrDamaged", name, err)
		}
	}
	// With a missing chunk Open succeeds, since the leader sends it again.
	dir := t.TempDir()
	s := c.begins(t, dir)
	_ = s.Close()
	if err := os.Remove(filepath.Join(dir, chunkFolder, hashOf(c.shared).String())); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil || s.whole() {
		t.Fatalf("a missing chunk: got %v, and the store is whole or not open", err)
	}
	if err := c.push(s, c.before, c.shared); err != nil || !s.whole() {
		t.Errorf("the missing chunk is not restored: %v", err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("a second process: got %v, want ErrInUse", err)
	}
	_ = s.Close()
}

// Chunks that are being read or written are not swept.
func TestChunksInUseAreNotSwept(t *testing.T) {
	t.Parallel()
	c := newScene()
	s := c.begins(t, t.TempDir())
	defer func() { _ = s.Close() }()
	reading, err := s.open("gone")
	if err != nil {
		t.Fatal(err)
	}
	f, unpin, err := s.addContent(bytes.NewReader([]byte("being written")), 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.push(s, c.after, c.fresh); err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	if _, err := all.ReadFrom(reading); err != nil || !bytes.Equal(all.Bytes(), c.old) {
		t.Errorf("reading an open file that was removed: %v", err)
	}
	if _, err := s.chunk(f.Chunks[0]); err != nil {
		t.Errorf("a chunk of an upload is swept: %v", err)
	}
	if len(s.have) != 4 {
		t.Errorf("got %d chunks while two are in use, want 4", len(s.have))
	}
	_ = reading.Close()
	unpin()
	if len(s.have) != 2 {
		t.Errorf("got %d chunks when none is in use, want 2", len(s.have))
	}
}

// A late offer of the same leader does not ask for chunks that a later one has removed.
func TestALateOffer(t *testing.T) {
	t.Parallel()
	c := newScene()
	s := c.begins(t, t.TempDir())
	defer func() { _ = s.Close() }()
	later := c.before.with("gone", nil).with("a", nil)
	if err := c.push(s, later); err != nil || len(s.have) != 0 {
		t.Fatalf("got %d chunks, %v, want none", len(s.have), err)
	}
	missing, held, err := s.take(c.before, "leader", false)
	if err != nil || len(missing) != 0 || held != later.Version() {
		t.Errorf("got %d missing chunks, version %s, %v, want none of %s", len(missing), held, err, later.Version())
	}
	if err := s.receive(c.before.Tenure, hashOf(c.old), bytes.NewReader(c.old)); !errors.Is(err, errNotOffered) {
		t.Errorf("a chunk that no catalog needs: got %v, want errNotOffered", err)
	}
}

// Chunks that have arrived for an offer stay, even if a sweep runs meanwhile.
func TestAnOfferOutlivesASweep(t *testing.T) {
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
	half, rest := []byte("half"), []byte("rest")
	next := c.after.with("c", &File{Size: ChunkSize + 4, Chunks: []Hash{hashOf(half), hashOf(rest)}})
	if missing, _, err := s.take(next, "leader", false); err != nil || len(missing) != 2 {
		t.Fatalf("got %d missing chunks, %v", len(missing), err)
	}
	if err := s.receive(next.Tenure, hashOf(half), bytes.NewReader(half)); err != nil {
		t.Fatal(err)
	}
	_ = reading.Close() // its chunk is swept
	if missing, _, err := s.take(next, "leader", false); err != nil || len(missing) != 1 || len(s.have) != 3 {
		t.Errorf("got %d missing chunks and %d stored ones, %v, want 1 and 3", len(missing), len(s.have), err)
	}
}
