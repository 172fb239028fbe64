package chunksync

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Which changes a node takes: those of its own leader that begin where it is, or earlier.
func TestWhichChangesAreTaken(t *testing.T) {
	t.Parallel()
	leader := Tenure{Epoch: 1}
	for name, c := range map[string]struct {
		by    change
		gap   bool
		files string
	}{
		"the next":                          {by: change{Tenure: leader, From: 4, Seq: 5}, files: "a b gone"},
		"several at once":                   {by: change{Tenure: leader, From: 4, Seq: 9}, files: "a b gone"},
		"one that it has half of":           {by: change{Tenure: leader, From: 2, Seq: 5}, files: "a b gone"},
		"one that comes late":               {by: change{Tenure: leader, From: 3, Seq: 4}, files: "a gone"},
		"one from a catalog that is newer":  {by: change{Tenure: leader, From: 5, Seq: 6}, gap: true, files: "a gone"},
		"a later leader's":                  {by: change{Tenure: Tenure{Epoch: 2}, From: 4, Seq: 5}, gap: true, files: "a gone"},
		"a later leader's from its nothing": {by: change{Tenure: Tenure{Epoch: 2}, From: 0, Seq: 1}, gap: true, files: "a gone"},
	} {
		scene := newScene()
		dir := t.TempDir()
		s := scene.begins(t, dir)
		c.by.Files = map[string]*File{"b": {}}
		if _, _, err := s.follow(c.by, "leader", false); errors.Is(err, errGap) != c.gap || err != nil && !c.gap {
			t.Errorf("%s: got %v, want it refused: %v", name, err, c.gap)
		}
		for _, when := range []string{"at once", "after a restart"} {
			now, _ := s.latest()
			if got := strings.Join(now.names(), " "); got != c.files {
				t.Errorf("%s, %s: got the files %q, want %q", name, when, got, c.files)
			}
			_ = s.Close()
			s = openWith(t, dir, &killer{left: -1})
		}
		_ = s.Close()
	}
}

// A lost chunk of a file that a change removes is not asked for, and one of another file is.
func TestALostChunkOfARemovedFile(t *testing.T) {
	t.Parallel()
	c := newScene()
	s := c.begins(t, t.TempDir())
	defer func() { _ = s.Close() }()
	for _, content := range [][]byte{c.old, c.shared} {
		if err := os.Remove(s.disk.path(chunkFolder, hashOf(content).String())); err != nil {
			t.Fatal(err)
		}
		if _, err := s.chunk(hashOf(content)); !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	}
	by := c.before.write("a", &File{Size: 100, Chunks: []Hash{hashOf(c.old)}})
	missing, _, err := s.follow(by, "leader", false)
	if err != nil || len(missing) != 1 || missing[0] != hashOf(c.old) {
		t.Errorf("got %d missing chunks, %v, want the one that is still named", len(missing), err)
	}
}

// What has changed since any seq leads there from it, or is not known.
func TestChangeSince(t *testing.T) {
	t.Parallel()
	s := openWith(t, t.TempDir(), &killer{left: -1})
	defer func() { _ = s.Close() }()
	leader := Tenure{Epoch: 1}
	s.apply(difference(catalog{}, catalog{Tenure: leader, Files: map[string]File{"first": {}}}))
	made := []catalog{{Tenure: leader, Files: map[string]File{"first": {}}}}
	const writes = 2*recentWrites + 100
	for i := range writes {
		by := s.catalog.write(fmt.Sprint("f", i%50), &File{Size: int64(i)})
		if i%3 == 0 {
			by.Files[fmt.Sprint("f", i%50)] = nil
		}
		s.apply(by)
		if i < 200 || i > writes-200 {
			made = append(made, made[len(made)-1].after(by))
		} else {
			last := made[len(made)-1]
			last.Files = nil
			made = append(made, last)
		}
	}
	if _, known := s.changeSince(10); known {
		t.Error("more writes than are kept are known")
	}
	if _, known := s.changeSince(writes + 1); known {
		t.Error("what is not written yet is known")
	}
	if len(s.recent) > 2*recentWrites {
		t.Errorf("got %d writes kept, want at most %d", len(s.recent), 2*recentWrites)
	}
	for back := range 50 {
		by, known := s.changeSince(int64(writes - back))
		if !known || len(by.Files) > back {
			t.Fatalf("the last %d writes: got %d files, known %v", back, len(by.Files), known)
		}
		from := made[writes-back]
		now := s.catalog
		if difference(from, now).Seq != by.Seq || back > 0 && !by.follows(catalog{Tenure: leader, Seq: from.Seq}) {
			t.Errorf("the last %d writes: got a change from %d to %d", back, by.From, by.Seq)
		}
		for name, f := range by.Files {
			if have, there := now.Files[name]; there != (f != nil) || there && !have.same(*f) {
				t.Errorf("the last %d writes: got %s as %+v, want %+v", back, name, f, have)
			}
		}
	}
}

// A folder of a version without a log is read, and has a log after the next write.
func TestAFolderWithoutALog(t *testing.T) {
	t.Parallel()
	c := newScene()
	dir := t.TempDir()
	s := c.begins(t, dir)
	_ = s.Close()
	older(t, dir, c.before)
	s = openWith(t, dir, &killer{left: -1})
	if now, _ := s.latest(); !now.sameAs(c.before) || s.promised().Held != c.before.Version() || !s.whole() {
		t.Errorf("got %+v, want %+v", now, c.before)
	}
	by := c.change()
	if err := c.pushChange(s, by, c.fresh); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	// The old catalog is still there, as if the node had died before it was removed.
	for range 2 {
		s = openWith(t, dir, &killer{left: -1})
		if now, _ := s.latest(); !now.sameAs(c.after) {
			t.Errorf("got %+v, want %+v", now, c.after)
		}
		_ = s.Close()
	}
	if _, err := os.Stat(filepath.Join(dir, oldCatalog)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old catalog: got %v, want it removed", err)
	}
}

// counted counts what a leader sends to a node: changes, whole catalogs, and bytes.
type counted struct{ changes, catalogs, bytes atomic.Int64 }

func (n *node) countOffers() *counted {
	c := &counted{}
	count := func(_ http.ResponseWriter, r *http.Request) bool {
		c.bytes.Add(max(r.ContentLength, 0))
		if r.Method == http.MethodPost && r.URL.Path == "/catalog" {
			text, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(text)))
			if strings.Contains(string(text), `"catalog":`) {
				c.catalogs.Add(1)
			} else {
				c.changes.Add(1)
			}
		}
		return false
	}
	n.block.Store(&count)
	return c
}

// A follower that was away is sent what it missed, and one whose disk was lost the whole catalog.
func TestAFollowerThatMissedChanges(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(0))
	one, two := tm.nodes[0], tm.nodes[1]
	one.lead(1)
	one.mustPut("f", []byte("1"), 1)
	two.cut()
	for i := range 3 {
		one.mustPut(fmt.Sprint("g", i), []byte("2"), 0)
	}
	if _, err := one.m.Remove(t.Context(), "f", 0); err != nil {
		t.Fatal(err)
	}
	sent := two.countOffers()
	two.until("it has what it missed", func() bool {
		return two.store.promised().Held == one.store.promised().Held && two.has("g2", []byte("2"))
	})
	if _, err := two.content("f"); !errors.Is(err, ErrNotFound) || sent.catalogs.Load() != 0 || sent.changes.Load() == 0 {
		t.Errorf("got %d catalogs and %d changes, and reading a removed file %v, want changes alone and ErrNotFound",
			sent.catalogs.Load(), sent.changes.Load(), err)
	}
	two.cut()
	_ = two.store.Close()
	two.dir = t.TempDir()
	two.start()
	sent = two.countOffers()
	two.until("it has all again", func() bool {
		return two.store.promised().Held == one.store.promised().Held && two.has("g0", []byte("2")) && two.has("g2", []byte("2"))
	})
	if sent.catalogs.Load() == 0 {
		t.Error("the lost disk was not sent a whole catalog: this test is blind")
	}
}

// A node of a version that knows no changes, or one whose catalog is another, refuses a change
// and is offered the whole catalog at once.
func TestAPeerThatKnowsNoChanges(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, 2, new(1))
	one, two := tm.nodes[0], tm.nodes[1]
	var refused atomic.Int64
	old := func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || r.URL.Path != "/catalog" {
			return false
		}
		text, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(text)))
		if !strings.Contains(string(text), `"change":`) {
			return false
		}
		refused.Add(1)
		refuse(w, badRequest(`the body cannot be decoded: unknown field "change"`))
		return true
	}
	two.block.Store(&old)
	one.m.cfg.Events.Trouble = func(peer string, err error) { t.Errorf("%s is in trouble: %v", peer, err) }
	one.lead(1)
	for i := range 3 {
		one.mustPut("f", []byte{byte(i)}, 1)
	}
	if !two.has("f", []byte{2}) || refused.Load() == 0 {
		t.Errorf("got the file %v after %d refusals", two.has("f", []byte{2}), refused.Load())
	}
}

// The room that a catalog takes is known without encoding it, however the names are written.
func TestRoom(t *testing.T) {
	t.Parallel()
	c := catalog{Files: map[string]File{}}
	sum := 0
	for i, name := range []string{"a", "ü/日本", `with "quotes"`, "<&>", strings.Repeat("x", maxName)} {
		f := File{Size: int64(i) * ChunkSize, Chunks: make([]Hash, i)}
		c.Files[name] = f
		sum += room(name, f)
	}
	text, err := c.encode()
	if rest := len(text) - sum; err != nil || rest < 0 || rest > maxCatalog-maxRoom {
		t.Errorf("the files take %d of %d bytes, %v", sum, len(text), err)
	}
}

// A write is refused if the catalog would be too long to be sent whole, and a smaller one is not.
func TestAFullCatalog(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	n.lead(1)
	n.mustPut("f", []byte("1"), 0)
	n.store.mu.Lock()
	n.store.room += maxRoom - n.store.roomAfter(n.store.catalog.write("g", &File{Size: 1, Chunks: make([]Hash, 1)}))
	n.store.mu.Unlock()
	if err := n.put("gg", []byte("1"), 0); !errors.Is(err, ErrFull) {
		t.Errorf("a file too many: got %v, want ErrFull", err)
	}
	n.mustPut("g", []byte("1"), 0)
	n.store.mu.Lock()
	n.store.room += 1000 // as of a version that counted otherwise
	n.store.mu.Unlock()
	if _, err := n.m.Remove(t.Context(), "f", 0); err != nil {
		t.Error(err)
	}
}
