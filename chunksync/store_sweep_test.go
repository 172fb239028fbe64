package chunksync

import (
	"errors"
	"testing"
)

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
