package gossip

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What a start has stored survives the loss of power: the number is on the disk before the name leads to it, and the name before the node says anything.
func TestAnIncarnationIsOnTheDisk(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "incarnation")
	if err := writeIncarnation(file, 1); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var synced []string
	sync := func(f *os.File) error {
		if f.Name() == folder {
			synced = append(synced, fmt.Sprintf("the folder, and the file has %q", read(file)))
		} else {
			synced = append(synced, fmt.Sprintf("a draft with %q, and the file has %q", read(f.Name()), read(file)))
		}
		return f.Sync()
	}
	if err := replaceIncarnation(file, 2, sync); err != nil {
		t.Fatal(err)
	}
	if want := []string{`a draft with "2\n", and the file has "1\n"`, `the folder, and the file has "2\n"`}; !slices.Equal(synced, want) {
		t.Errorf("synced were %q, want %q", synced, want)
	}
	fault := errors.New("the disk has failed")
	if err := replaceIncarnation(file, 3, func(*os.File) error { return fault }); !errors.Is(err, fault) || read(file) != "2\n" {
		t.Errorf("where a draft cannot be synced: %v, and the file has %q", err, read(file))
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("drafts are left: %v %v", left, err)
	}
}
