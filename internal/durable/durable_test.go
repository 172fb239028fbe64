package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What is stored survives the loss of power: the text is on the disk before the name leads to it, and the name before anybody acts on it.
func TestWhatIsStoredIsOnTheDisk(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "number")
	if err := Replace(file, []byte("1\n")); err != nil {
		t.Fatal(err)
	}
	var synced []string
	sync := func(f *os.File) error {
		if f.Name() == folder {
			synced = append(synced, fmt.Sprintf("the folder, and the file has %q", read(t, file)))
		} else {
			synced = append(synced, fmt.Sprintf("a draft with %q, and the file has %q", read(t, f.Name()), read(t, file)))
		}
		return f.Sync()
	}
	if err := put(file, []byte("2\n"), os.Rename, sync); err != nil {
		t.Fatal(err)
	}
	if want := []string{`a draft with "2\n", and the file has "1\n"`, `the folder, and the file has "2\n"`}; !slices.Equal(synced, want) {
		t.Errorf("synced were %q, want %q", synced, want)
	}
	fault := errors.New("the disk has failed")
	if err := put(file, []byte("3\n"), os.Rename, func(*os.File) error { return fault }); !errors.Is(err, fault) || read(t, file) != "2\n" {
		t.Errorf("where a draft cannot be synced: %v, and the file has %q", err, read(t, file))
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("drafts are left: %v %v", left, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is open to others: %v %v", info.Mode(), err)
	}
}

// What is made new takes nobody's place, and leaves no draft.
func TestNothingNewTakesAPlace(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "key")
	if err := Create(file, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := Create(file, []byte("second")); !errors.Is(err, fs.ErrExist) || read(t, file) != "first" {
		t.Errorf("a second one: %v, and the file has %q", err, read(t, file))
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("drafts are left: %v %v", left, err)
	}
	if err := Folder(filepath.Join(folder, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
