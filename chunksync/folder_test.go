package chunksync

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

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
