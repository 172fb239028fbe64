//go:build unix

package beside_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/beside"
)

// What is beside a program comes before what is on the PATH; a folder and a file that cannot be run are no programs.
func TestFind(t *testing.T) {
	here, there, nowhere := t.TempDir(), t.TempDir(), t.TempDir()
	for file, mode := range map[string]os.FileMode{
		filepath.Join(here, "both"): 0o700, filepath.Join(there, "both"): 0o700, filepath.Join(there, "far"): 0o700,
		filepath.Join(here, "far"): 0o600, filepath.Join(here, "text"): 0o600,
	} {
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(here, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", there)
	for name, want := range map[string]string{
		"both": filepath.Join(here, "both"), "far": filepath.Join(there, "far"), "text": "", "folder": "", "none": "",
	} {
		if got := beside.Find(filepath.Join(here, "own"), name); got != want {
			t.Errorf("%s is found at %q, want %q", name, got, want)
		}
	}
	if got := beside.Find(filepath.Join(nowhere, "own"), "both"); got != filepath.Join(there, "both") {
		t.Errorf("got %q, want that on the PATH", got)
	}
}
