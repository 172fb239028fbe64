package chunksync

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A folder that has something else is somebody else's: it is left as it is.
func TestSomebodyElsesFolder(t *testing.T) {
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
				t.Errorf("it is opened: %v", err)
			}
			for _, file := range files {
				if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
					t.Error(err)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "lock")); name == "a mailbox" && err == nil {
				t.Error("there is a lock in it now")
			}
		})
	}
}

// What a store has itself is opened, on a disk of its own too; and only what it has
// begun and not finished is cleared away.
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
			t.Errorf("%s: %v", file, err)
		}
	}
}

// put makes files, and folders where a slash ends the name.
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
