package disk_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/txlog"
)

// A store notices that its file is not the one at its path any more: after rm, rm -rf of its folder, and mv of a copy.
func TestWhatBecomesOfAFile(t *testing.T) {
	t.Parallel()
	for says, do := range map[string]func(path string) error{
		"was removed":      os.Remove,
		"was removed ":     func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"another file was": func(path string) error { return os.Rename(path+".copy", path) },
		"":                 func(string) error { return nil },
	} {
		path := filepath.Join(t.TempDir(), "logs", "flags.log")
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		id := create(t, path)
		s := begin(t, path, txlog.Genesis{Namespace: "flags", Machine: "kv", Members: []txlog.Member{{Name: "a", Store: id}}}.With())
		write(t, path+".copy", bytesOf(t, path))
		if err := do(path); err != nil {
			t.Fatal(err)
		}
		if err := s.Gone(); (err == nil) != (says == "") || err != nil && (!strings.Contains(err.Error(), strings.TrimSpace(says)) || !strings.Contains(err.Error(), path)) {
			t.Errorf("want that it %s, got %v", says, err)
		}
		_ = s.Close()
		if err := s.Gone(); err != nil {
			t.Errorf("a store that was closed says %v", err)
		}
	}
}
