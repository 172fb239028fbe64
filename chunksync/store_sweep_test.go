package chunksync

import "testing"

// A chunk that a reader keeps and that a change names again is not swept when the reader ends before
// the change is stored, although nothing was missing. The catalog would name what is gone.
func TestAChunkThatComesBackIsNotSwept(t *testing.T) {
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
