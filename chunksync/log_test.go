package chunksync

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// logOf returns a log of a catalog and some changes, and the offset of the last line.
func logOf(t *testing.T, changes int) (text []byte, last int, before, after catalog) {
	t.Helper()
	after = catalog{Tenure: Tenure{Epoch: 3}, Seq: 7, Files: map[string]File{"f0": {Size: 1, Chunks: []Hash{{0}}}}}
	text, err := line(after)
	if err != nil {
		t.Fatal(err)
	}
	for i := range changes {
		by := after.write(fmt.Sprint("f", i%3), &File{Size: 1, Chunks: []Hash{{byte(i)}}})
		if i%4 == 3 {
			by.Files["f0"] = nil
		}
		one, err := line(by)
		if err != nil {
			t.Fatal(err)
		}
		before, after = after, after.after(by)
		last = len(text)
		text = append(text, one...)
	}
	return text, last, before, after
}

// A log is read as it was written.
func TestALogIsReadAsWritten(t *testing.T) {
	t.Parallel()
	for _, changes := range []int{0, 1, 9} {
		text, _, _, want := logOf(t, changes)
		if got, torn, err := parseLog(text); err != nil || torn || !got.sameAs(want) {
			t.Errorf("%d changes: got %+v, torn %v, %v, want %+v", changes, got, torn, err, want)
		}
	}
}

// What is left of a line that a crash has cut off, at whatever byte or block, is dropped, and
// nothing before it.
func TestATornLineIsDropped(t *testing.T) {
	t.Parallel()
	text, last, before, _ := logOf(t, 5)
	check := func(what string, torn []byte) {
		got, is, err := parseLog(torn)
		if err != nil || !is || !got.sameAs(before) {
			t.Errorf("%s: got %s, torn %v, %v, want %s and that it is torn", what, got.Version(), is, err, before.Version())
		}
	}
	for at := last + 1; at < len(text); at++ {
		check(fmt.Sprintf("cut at byte %d", at-last), text[:at])
		check(fmt.Sprintf("zeros from byte %d", at-last), append(bytes.Clone(text[:at]), make([]byte, len(text)-at)...))
		hole := bytes.Clone(text)
		clear(hole[last:at])
		check(fmt.Sprintf("zeros up to byte %d", at-last), hole)
	}
	if got, is, err := parseLog(text[:last]); err != nil || is || !got.sameAs(before) {
		t.Errorf("cut between two lines: got %s, torn %v, %v, want %s", got.Version(), is, err, before.Version())
	}
}

// A line that was complete and has changed since may have been acknowledged. No flipped bit is
// taken for a write that was cut off: not one that makes a zero, and not one of the last line's end.
func TestARottenLineIsAFault(t *testing.T) {
	t.Parallel()
	text, _, _, _ := logOf(t, 5)
	for at := range text {
		for bit := byte(1); bit != 0; bit <<= 1 {
			rotten := bytes.Clone(text)
			rotten[at] ^= bit
			if got, torn, err := parseLog(rotten); err == nil || torn {
				t.Fatalf("byte %d, bit %d: got %s, torn %v, want an error", at, bit, got.Version(), torn)
			}
		}
	}
}

// A log whose lines do not lead from one to the next has lost some.
func TestALogWithAGapIsAFault(t *testing.T) {
	t.Parallel()
	text, _, _, _ := logOf(t, 5)
	lines := strings.SplitAfter(string(text), "\n")
	nowhere, err := line(change{Tenure: Tenure{Epoch: 3}, From: 7, Seq: 7})
	if err != nil {
		t.Fatal(err)
	}
	before, err := line(change{Tenure: Tenure{Epoch: 3}, From: 7, Seq: 9})
	if err != nil {
		t.Fatal(err)
	}
	for name, log := range map[string]string{
		"nothing":          "",
		"no catalog":       strings.Join(lines[1:], ""),
		"half a catalog":   lines[0][:20],
		"no end":           strings.TrimSuffix(lines[0], "\n"),
		"a line is lost":   lines[0] + lines[1] + lines[3] + lines[4],
		"a line is twice":  lines[0] + lines[1] + lines[1] + lines[2],
		"two are swapped":  lines[0] + lines[2] + lines[1],
		"one from before":  lines[0] + lines[1] + string(before),
		"one to nowhere":   lines[0] + string(nowhere),
		"an empty line":    lines[0] + "\n" + lines[1],
		"a second catalog": lines[0] + lines[1] + lines[0],
		"zeros between":    lines[0] + "\x00\x00\n" + lines[1],
	} {
		if got, torn, err := parseLog([]byte(log)); err == nil || torn {
			t.Errorf("%s: got %s, torn %v, %v, want an error", name, got.Version(), torn, err)
		}
	}
}

// A parsed log is the same after it is written and parsed again, and no input stops a node.
func FuzzLog(f *testing.F) {
	whole, err := line(catalog{Seq: 1})
	if err != nil {
		f.Fatal(err)
	}
	by, err := line(catalog{Seq: 1}.write("f", &File{}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(whole, by...))
	f.Add(whole[:10])
	f.Fuzz(func(t *testing.T, in []byte) {
		c, _, err := parseLog(in)
		if err != nil {
			return
		}
		out, err := line(c)
		if err != nil {
			t.Fatal(err)
		}
		if again, torn, err := parseLog(out); err != nil || torn || !again.sameAs(c) {
			t.Errorf("%q: got %+v, torn %v, %v, want %+v", in, again, torn, err, c)
		}
	})
}

// A folder whose log has rotted is refused, with the place, and left as it is: a start could
// show that an acknowledged file never was.
func TestARottenLogIsNotOpened(t *testing.T) {
	t.Parallel()
	c := newScene()
	for number := 1; number <= 4; number++ {
		dir := t.TempDir()
		s := c.begins(t, dir)
		for i := range 3 {
			if _, _, err := s.follow(s.catalog.write(fmt.Sprint("empty-", i), &File{}), "leader", false); err != nil {
				t.Fatal(err)
			}
		}
		_ = s.Close()
		path := filepath.Join(dir, catalogFile)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(text, []byte("\n"))
		lines[number-1][30] ^= 1
		if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = Open(dir)
		if want := fmt.Sprintf("%s: line %d: ", catalogFile, number); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ErrDamaged.Error()) {
			t.Errorf("line %d: got %v, want ErrDamaged with %q", number, err, want)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, bytes.Join(lines, nil)) {
			t.Errorf("line %d: the log was changed: %v", number, err)
		}
	}
}

// The earliest seq from which the changes are known is exact: from there each write is named, and from
// one before there is a write that is not kept any more. A peer would never get it.
func TestTheEarliestChange(t *testing.T) {
	t.Parallel()
	s := openWith(t, t.TempDir(), &killer{left: -1})
	defer func() { _ = s.Close() }()
	leader := Tenure{Epoch: 1}
	s.apply(difference(catalog{}, catalog{Tenure: leader}))
	name := func(seq int64) string { return fmt.Sprint("f", seq) }
	for range 2*recentWrites + 2 { // so that some were just dropped
		s.apply(s.catalog.write(name(s.catalog.Seq+1), &File{}))
	}
	if s.since == 0 {
		t.Fatal("no write was dropped: this test is blind")
	}
	for seq := s.since - 2; seq < s.since+3; seq++ {
		by, known := s.changeSince(seq)
		if known != (seq >= s.since) {
			t.Errorf("since %d: known %v, and all are kept after %d", seq, known, s.since)
		}
		if _, first := by.Files[name(seq+1)]; known && (!first || len(by.Files) != int(s.catalog.Seq-seq)) {
			t.Errorf("since %d: got %d files, the first of them %v, want all %d", seq, len(by.Files), first, s.catalog.Seq-seq)
		}
	}
}

// A new leader knows its own changes from its first catalog on, whatever it has followed before.
func TestTheChangesOfANewLeader(t *testing.T) {
	t.Parallel()
	s := openWith(t, t.TempDir(), &killer{left: -1})
	defer func() { _ = s.Close() }()
	s.apply(difference(catalog{}, catalog{Tenure: Tenure{Epoch: 1}, Seq: 9}))
	for _, name := range []string{"a", "b"} {
		s.apply(s.catalog.write(name, &File{}))
	}
	s.apply(difference(s.catalog, catalog{Tenure: Tenure{Epoch: 2}, Files: s.catalog.after(change{}).Files}))
	s.apply(s.catalog.write("c", &File{}))
	if by, known := s.changeSince(0); !known || len(by.Files) != 1 {
		t.Errorf("got %d files, known %v, want the one that the new leader has written", len(by.Files), known)
	}
}

// A folder with foreign entries is refused and left unchanged.
func TestAForeignFolder(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]string{
		"a mailbox":         {"cur/", "new/letter", "tmp/"},
		"one below another": {"lock", "chunks/", "new/", "more/lock"},
		"a file beside":     {"lock", "chunks/", "new/", "notes.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, files)
			s, err := Open(dir)
			if err == nil {
				_ = s.Close()
			}
			if foreign, ok := errors.AsType[*FolderError](err); !ok || foreign.Dir != dir || foreign.Entry == "" {
				t.Errorf("got %v, want a FolderError", err)
			}
			for _, file := range files {
				if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
					t.Error(err)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "lock")); name == "a mailbox" && err == nil {
				t.Error("the refused folder has a lock file now")
			}
		})
	}
}

// A store's folder is opened, also if it is a whole disk, and only drafts are removed.
func TestAFolderOfItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, []string{"lost+found/", "new/draft-17", "new/letter", "chunks/letter"})
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	for file, kept := range map[string]bool{"new/draft-17": false, "new/letter": true, "chunks/letter": true} {
		if _, err := os.Stat(filepath.Join(dir, file)); (err == nil) != kept {
			t.Errorf("%s: got %v, want it kept: %v", file, err, kept)
		}
	}
}

// put makes empty files, and folders for names that end with a slash.
func put(t *testing.T, dir string, files []string) {
	t.Helper()
	for _, file := range files {
		folder, name := filepath.Split(filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		if name == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
