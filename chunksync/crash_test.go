package chunksync

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// older makes the folder what a version without a log left.
func older(t *testing.T, dir string, c catalog) {
	t.Helper()
	text, err := c.encode()
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, oldCatalog), text, 0o600), os.Remove(filepath.Join(dir, catalogFile))); err != nil {
		t.Fatal(err)
	}
}

// S22: kill -9 at any instant leaves a complete catalog, old or new, and forgets no promise.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	whole := func(c *scene, s *Store) error { return c.push(s, c.after, c.fresh) }
	line := func(c *scene, s *Store) error { return c.pushChange(s, difference(c.before, c.after), c.fresh) }
	for name, way := range map[string]struct {
		push  func(c *scene, s *Store) error
		begin func(t *testing.T, dir string, c *scene)
		ready func(s *Store)
		steps int // at least, or this test is blind
	}{
		"another leader's catalog": {push: whole, steps: 14},
		"a line of the log":        {push: line, begin: func(_ *testing.T, _ string, c *scene) { c.change() }, steps: 8},
		"a log begun anew": {
			push: line, begin: func(_ *testing.T, _ string, c *scene) { c.change() },
			ready: func(s *Store) { s.begun = -leastLog }, steps: 11, // so that it counts as long
		},
		"a folder of a version without a log": {
			push:  line,
			begin: func(t *testing.T, dir string, c *scene) { c.change(); older(t, dir, c.before) }, steps: 11,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for step := 0; ; step++ {
				c := newScene()
				dir := t.TempDir()
				s := c.begins(t, dir)
				_ = s.Close()
				if way.begin != nil {
					way.begin(t, dir, c)
				}
				k := &killer{left: -1}
				s = openWith(t, dir, k)
				if way.ready != nil {
					way.ready(s)
				}
				k.left = step
				err := way.push(c, s)
				tenure := s.promised().Tenure
				_ = s.Close()
				c.check(t, fmt.Sprintf("killed after %q", k.seen), dir, tenure, err == nil)
				if err == nil && k.left > 0 {
					if step < way.steps {
						t.Errorf("the push had %d steps, want at least %d: this test is blind", step, way.steps)
					}
					return
				}
			}
		})
	}
}

// S22: a power failure while a line is written leaves any part of it. The line was not
// acknowledged, and all before it is there.
func TestPowerFailsWhileALineIsWritten(t *testing.T) {
	t.Parallel()
	c := newScene()
	by := c.change()
	dir := t.TempDir()
	k := &killer{left: -1}
	s := openWith(t, dir, k)
	if err := c.push(s, c.before, c.old, c.shared); err != nil {
		t.Fatal(err)
	}
	s.disk.trip = func(op, name string) error {
		if op == "sync" && name == catalogFile {
			return errKilled
		}
		return nil
	}
	begun := int(s.log)
	if err := c.pushChange(s, by, c.fresh); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	if _, _, err := s.take(c.after, "leader", false); !errors.Is(err, errKilled) {
		t.Errorf("a catalog after a line that was not synced: got %v, want the store in doubt", err)
	}
	_ = s.Close()
	text, err := os.ReadFile(filepath.Join(dir, catalogFile))
	if err != nil || len(text) < begun+300 {
		t.Fatalf("got a log of %d bytes after %d, %v: this test is blind", len(text), begun, err)
	}
	for at := begun; at <= len(text); at += 31 {
		for what, torn := range map[string][]byte{
			"cut":   text[:at],
			"zeros": append(bytes.Clone(text[:at]), make([]byte, len(text)-at)...),
		} {
			failed := t.TempDir()
			if err := os.CopyFS(failed, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(failed, catalogFile), torn, 0o600); err != nil {
				t.Fatal(err)
			}
			c.check(t, fmt.Sprintf("%s from byte %d", what, at-begun), failed, c.before.Tenure, false)
		}
	}
}

// A line is not written behind one that was cut off: that would be a fault in the middle of the log.
func TestALineAfterATornOne(t *testing.T) {
	t.Parallel()
	c := newScene()
	by := c.change()
	dir := t.TempDir()
	s := c.begins(t, dir)
	_ = s.Close()
	f, err := os.OpenFile(filepath.Join(dir, catalogFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`0123abcd {"reign":{`)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	s = openWith(t, dir, &killer{left: -1})
	if err := c.pushChange(s, by, c.fresh); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	c.check(t, "a line after a torn one", dir, c.before.Tenure, true)
}

// A disk that is full in the middle of a line leaves the log as it was, and the next write works.
func TestHalfALine(t *testing.T) {
	t.Parallel()
	for _, cut := range []bool{true, false} {
		c := newScene()
		by := c.change()
		dir := t.TempDir()
		s := c.begins(t, dir)
		s.disk.trip = func(op, name string) error {
			switch {
			case op == "append":
				f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					return err
				}
				_, err = f.WriteString("half a line")
				return errors.Join(errKilled, err, f.Close())
			case op == "truncate" && !cut:
				return errKilled
			}
			return nil
		}
		if err := c.pushChange(s, by, c.fresh); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		s.disk.trip = nil
		if err := c.pushChange(s, by, c.fresh); (err == nil) != cut {
			t.Errorf("the next push, with the half cut off %v: got %v", cut, err)
		}
		_ = s.Close()
		c.check(t, fmt.Sprintf("cut off %v", cut), dir, c.before.Tenure, cut)
	}
}

// One operation that fails, whichever it is, delays a push and harms nothing: the next try works, in
// the same process, or in the next one if the store is in doubt.
func TestOneFaultAtEachStep(t *testing.T) {
	t.Parallel()
	for _, ready := range []func(s *Store){func(*Store) {}, func(s *Store) { s.begun = -leastLog }} {
		for step := 0; ; step++ {
			c := newScene()
			by := c.change()
			dir := t.TempDir()
			s := c.begins(t, dir)
			ready(s)
			at, failed := 0, ""
			s.disk.trip = func(op, name string) error {
				if at++; at == step+1 {
					failed = op + " " + name
					return errKilled
				}
				return nil
			}
			err := c.pushChange(s, by, c.fresh)
			if failed == "" {
				if step < 8 {
					t.Errorf("the push had %d steps: this test is blind", step)
				}
				_ = s.Close()
				break
			}
			for range 3 {
				if err == nil {
					break
				}
				if s.doubt() != nil {
					_ = s.Close()
					s = openWith(t, dir, &killer{left: -1})
				}
				err = c.pushChange(s, by, c.fresh)
			}
			if err != nil {
				t.Errorf("after %q failed: got %v", failed, err)
			}
			_ = s.Close()
			c.check(t, fmt.Sprintf("after %q failed once", failed), dir, by.Tenure, true)
		}
	}
}

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
