package chunksync

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// power is what a disk keeps of a log when the power fails: what was written before a sync that
// worked. Once a sync has failed, the kernel takes what it could not write for clean.
type power struct {
	t       *testing.T
	path    string
	durable []byte
	dirty   bool
	fault   string // of the next sync: "killed" before it, or "failed"
}

func (p *power) trip(op, name string) error {
	switch {
	case name == catalogFile && (op == "append" || op == "rewrite"):
		p.dirty = true
	case name == catalogFile && op == "sync" && p.fault != "":
		p.dirty = p.fault == "killed"
		return errKilled
	case name == catalogFile && op == "sync" && p.dirty:
		p.durable, p.dirty = p.read(), false
	}
	return nil
}

func (p *power) read() []byte {
	text, err := os.ReadFile(p.path)
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

// A line that a killed process has left is not synced, also if a new process can read it. Before
// the node says that it holds it, it is: otherwise its leader counts a copy that a power failure takes.
func TestALineIsSyncedBeforeItCounts(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"killed", "failed"} {
		c := newScene()
		by := c.change()
		dir := t.TempDir()
		p := &power{t: t, path: filepath.Join(dir, catalogFile)}
		begin := func() *Store {
			s, err := open(disk{dir: dir, trip: p.trip})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := begin()
		if err := c.push(s, c.before, c.old, c.shared); err != nil {
			t.Fatal(err)
		}
		p.durable, p.fault = p.read(), fault
		if err := c.pushChange(s, by, c.fresh); !errors.Is(err, errKilled) {
			t.Fatalf("%s: got %v: this test is blind", fault, err)
		}
		_ = s.Close()
		p.fault = ""
		s = begin()
		missing, held, err := s.follow(by, "leader", false)
		if err != nil || len(missing) > 0 || held != by.Version() {
			t.Fatalf("%s: after a restart: got %d missing chunks, %s, %v", fault, len(missing), held, err)
		}
		_ = s.Close()
		if err := os.WriteFile(p.path, p.durable, 0o600); err != nil { // here the power fails
			t.Fatal(err)
		}
		c.check(t, "the line's sync "+fault+", and then the power fails", dir, by.Tenure, true)
	}
}

// A node whose disk cannot make the last line durable does not start, and cuts nothing off.
func TestALineThatCannotBeSynced(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"rewrite", "sync"} {
		c := newScene()
		dir := t.TempDir()
		s := openWith(t, dir, &killer{left: -1})
		if err := errors.Join(c.push(s, c.before, c.old, c.shared), c.pushChange(s, c.change(), c.fresh)); err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		before, err := os.ReadFile(filepath.Join(dir, catalogFile))
		if err != nil {
			t.Fatal(err)
		}
		_, err = open(disk{dir: dir, trip: func(what, name string) error {
			if what == op && name == catalogFile {
				return errKilled
			}
			return nil
		}})
		after, e := os.ReadFile(filepath.Join(dir, catalogFile))
		if !errors.Is(err, errKilled) || e != nil || !bytes.Equal(before, after) {
			t.Errorf("%s fails: got %v, %v, and the log unchanged: %v", op, err, e, bytes.Equal(before, after))
		}
		c.check(t, op, dir, c.before.Tenure, true)
	}
}

// A restart does not make what a node holds any newer, also if it writes the last line again.
func TestARestartMakesNothingNewer(t *testing.T) {
	t.Parallel()
	c := newScene()
	dir := t.TempDir()
	s := openWith(t, dir, &killer{left: -1})
	if err := errors.Join(c.push(s, c.before, c.old, c.shared), c.pushChange(s, c.change(), c.fresh)); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	then := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(filepath.Join(dir, catalogFile), then, then); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s = openWith(t, dir, &killer{left: -1})
		if _, at := s.latest(); !at.Equal(then) {
			t.Errorf("got %s, want %s", at, then)
		}
		_ = s.Close()
	}
}
