package chunksync

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var errKilled = errors.New("killed here")

// killer ends a process at its n-th operation on the disk: that one and all after it
// are not done. Before 0 it only keeps the list.
type killer struct {
	left int
	seen []string
}

func (k *killer) trip(op, name string) error {
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

// scene is a follower that has a catalog of epoch 1, and gets one of epoch 2 with some
// of the same content.
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

// push is what a leader does to a follower, in the follower's process.
func (c *scene) push(s *Store, to catalog, contents ...[]byte) error {
	missing, _, err := s.take(to, "leader", false)
	if err != nil || len(missing) == 0 {
		return err
	}
	for _, content := range contents {
		if slices.Contains(missing, hashOf(content)) {
			if err := s.receive(to.Tenure, hashOf(content), content); err != nil {
				return err
			}
		}
	}
	missing, _, err = s.take(to, "leader", false)
	if err == nil && len(missing) > 0 {
		return fmt.Errorf("%d are missing", len(missing))
	}
	return err
}

// S22: kill -9 at any instant of a push leaves the old catalog or the new one, with all
// its content, and no promise is forgotten.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	c := newScene()
	for step := 0; ; step++ {
		dir := t.TempDir()
		s := openWith(t, dir, &killer{left: -1})
		if err := c.push(s, c.before, c.old, c.shared); err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		k := &killer{left: step}
		s = openWith(t, dir, k)
		err := c.push(s, c.after, c.fresh)
		tenure := s.promised().Tenure
		_ = s.Close()
		c.check(t, fmt.Sprintf("killed after %q", k.seen), dir, tenure, err == nil)
		if err == nil && k.left > 0 {
			if step < 10 {
				t.Errorf("only %d steps: this test is blind", step)
			}
			return
		}
	}
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
		t.Errorf("%s: it was said to be taken, and is not", when)
	}
	if s.promised().Tenure.Epoch < tenure.Epoch || s.promised().Tenure.Epoch < got.Tenure.Epoch {
		t.Errorf("%s: a promise is forgotten: %+v", when, s.promised())
	}
	if got.Version() != want.Version() || len(got.Files) != len(want.Files) || !s.whole() {
		t.Errorf("%s: %+v", when, got)
	}
	for name, f := range want.Files {
		content, err := s.open(name)
		if err != nil {
			t.Errorf("%s: %s: %v", when, name, err)
			continue
		}
		var all bytes.Buffer
		if _, err := all.ReadFrom(content); err != nil || int64(all.Len()) != f.Size {
			t.Errorf("%s: %s: %d bytes, %v", when, name, all.Len(), err)
		}
		_ = content.Close()
	}
	if drafts, err := os.ReadDir(filepath.Join(dir, newFolder)); err != nil || len(drafts) > 0 {
		t.Errorf("%s: %d drafts are left, %v", when, len(drafts), err)
	}
	if err := c.push(s, c.after, c.old, c.shared, c.fresh); err != nil || s.promised().Held != c.after.Version() {
		t.Errorf("%s: it cannot go on: %v", when, err)
	}
	if err := c.push(s, c.after.with("none", nil)); err != nil || len(s.have) != 2 {
		t.Errorf("%s: %d chunks are left after the next commit, %v", when, len(s.have), err)
	}
}

// A crash of the machine, not only of the process, needs the order: content down to
// the disk before its name, names before the catalog, the promise before all.
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
	want := slices.Concat(
		file(promiseFile), []string{"settle " + filepath.Base(s.disk.dir)},
		file(hashOf(c.shared).String()), file(hashOf(c.fresh).String()), []string{"settle " + chunkFolder},
		file(catalogFile), []string{"settle " + filepath.Base(s.disk.dir)},
	)
	if !slices.Equal(k.seen, want) {
		t.Errorf("the disk was told\n%q\nwant\n%q", k.seen, want)
	}
}

// What a process placed that was killed then has to last, too, before a catalog names it.
func TestTheOrderAfterARestart(t *testing.T) {
	t.Parallel()
	c := newScene()
	dir := t.TempDir()
	s := openWith(t, dir, &killer{left: -1})
	if _, _, err := s.take(c.after, "leader", false); err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{c.shared, c.fresh} {
		if err := s.receive(c.after.Tenure, hashOf(content), content); err != nil {
			t.Fatal(err)
		}
	}
	_ = s.Close() // killed here
	k := &killer{left: -1}
	s = openWith(t, dir, k)
	defer func() { _ = s.Close() }()
	if missing, _, err := s.take(c.after, "leader", false); err != nil || len(missing) > 0 {
		t.Fatalf("%d are missing, %v", len(missing), err)
	}
	want := []string{"settle " + chunkFolder, "create new", "write new", "sync new", "rename " + catalogFile, "settle " + filepath.Base(dir)}
	if !slices.Equal(k.seen, want) {
		t.Errorf("the disk was told\n%q\nwant\n%q", k.seen, want)
	}
}

// After a rename of which nobody knows whether it lasts, the store takes nothing more
// until it has been opened again.
func TestADoubtIsNotBuiltOn(t *testing.T) {
	t.Parallel()
	c := newScene()
	dir := t.TempDir()
	k := &killer{left: 4} // the folder cannot be settled
	s := openWith(t, dir, k)
	if _, err := s.raise(Tenure{Epoch: 5}, "a"); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	k.left = -1
	if _, err := s.raise(Tenure{Epoch: 4}, "b"); err == nil {
		t.Error("it promises something else on top of a doubt")
	}
	if err := c.push(s, c.after); err == nil {
		t.Error("it takes a catalog on top of a doubt")
	}
	_ = s.Close()
}

// What stands on a disk and was never written there stops the node: to begin anew
// would forget what was promised.
func TestADamagedFolder(t *testing.T) {
	t.Parallel()
	c := newScene()
	for name, damage := range map[string]func(dir string) error{
		"promise":                func(dir string) error { return os.WriteFile(filepath.Join(dir, promiseFile), []byte("{"), 0o600) },
		"catalog":                func(dir string) error { return os.WriteFile(filepath.Join(dir, catalogFile), []byte("[]"), 0o600) },
		"a promise that is gone": func(dir string) error { return os.Remove(filepath.Join(dir, promiseFile)) },
	} {
		dir := t.TempDir()
		s := openWith(t, dir, &killer{left: -1})
		if err := c.push(s, c.before, c.old, c.shared); err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		if err := damage(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A lost chunk is no reason not to start: the leader sends it again. But what such a
	// node says it holds must not become everybody's.
	dir := t.TempDir()
	s := openWith(t, dir, &killer{left: -1})
	if err := c.push(s, c.before, c.old, c.shared); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if err := os.Remove(filepath.Join(dir, chunkFolder, hashOf(c.shared).String())); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil || s.whole() {
		t.Fatalf("a lost chunk: %v", err)
	}
	if err := c.push(s, c.before, c.shared); err != nil || !s.whole() {
		t.Errorf("it does not come again: %v", err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("a second process: %v", err)
	}
	_ = s.Close()
}

// Content that is being read, written or sent is not swept.
func TestWhatIsInUseIsNotSwept(t *testing.T) {
	t.Parallel()
	c := newScene()
	s := openWith(t, t.TempDir(), &killer{left: -1})
	defer func() { _ = s.Close() }()
	if err := c.push(s, c.before, c.old, c.shared); err != nil {
		t.Fatal(err)
	}
	reading, err := s.open("gone")
	if err != nil {
		t.Fatal(err)
	}
	f, unpin, err := s.store(bytes.NewReader([]byte("being written")), 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.push(s, c.after, c.fresh); err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	if _, err := all.ReadFrom(reading); err != nil || !bytes.Equal(all.Bytes(), c.old) {
		t.Errorf("reading on: %v", err)
	}
	if _, err := s.chunk(f.Chunks[0]); err != nil {
		t.Errorf("writing on: %v", err)
	}
	if len(s.have) != 4 {
		t.Errorf("%d chunks while two are in use", len(s.have))
	}
	_ = reading.Close()
	unpin()
	if len(s.have) != 2 {
		t.Errorf("%d chunks are left when nothing is in use any more", len(s.have))
	}
}

// An offer that comes late, of the same leader, asks for nothing back that a later one
// has removed.
func TestALateOffer(t *testing.T) {
	t.Parallel()
	c := newScene()
	s := openWith(t, t.TempDir(), &killer{left: -1})
	defer func() { _ = s.Close() }()
	if err := c.push(s, c.before, c.old, c.shared); err != nil {
		t.Fatal(err)
	}
	later := c.before.with("gone", nil).with("a", nil)
	if err := c.push(s, later); err != nil || len(s.have) != 0 {
		t.Fatalf("%d chunks are left, %v", len(s.have), err)
	}
	missing, held, err := s.take(c.before, "leader", false)
	if err != nil || len(missing) != 0 || held != later.Version() {
		t.Errorf("it lacks %d, holds %s: %v", len(missing), held, err)
	}
	if err := s.receive(c.before.Tenure, hashOf(c.old), c.old); !errors.Is(err, errNotOffered) {
		t.Errorf("what nobody needs is taken: %v", err)
	}
}

// What has arrived of an offer stays, though something else is swept meanwhile.
func TestAnOfferOutlivesASweep(t *testing.T) {
	t.Parallel()
	c := newScene()
	s := openWith(t, t.TempDir(), &killer{left: -1})
	defer func() { _ = s.Close() }()
	if err := c.push(s, c.before, c.old, c.shared); err != nil {
		t.Fatal(err)
	}
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
		t.Fatalf("%d are missing, %v", len(missing), err)
	}
	if err := s.receive(next.Tenure, hashOf(half), half); err != nil {
		t.Fatal(err)
	}
	_ = reading.Close() // and what it read goes
	if missing, _, err := s.take(next, "leader", false); err != nil || len(missing) != 1 || len(s.have) != 3 {
		t.Errorf("%d are missing, %d are there, %v", len(missing), len(s.have), err)
	}
}
