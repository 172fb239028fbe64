package postmaster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func programs(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheHighestVersionWins(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, version := range []string{"9.6", "14", "17"} {
		programs(t, filepath.Join(root, version, "bin"))
	}
	if err := os.MkdirAll(filepath.Join(root, "18", "bin"), 0o755); err != nil { // a client alone
		t.Fatal(err)
	}
	if got := highest(filepath.Join(root, "*", "bin")); got != filepath.Join(root, "17", "bin") {
		t.Fatalf("found %s, want version 17", got)
	}
}

func TestTheEnvironmentNamesTheFolder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(BinEnv, dir)
	if _, err := Binaries(t.Context()); err == nil || !strings.Contains(err.Error(), dir) {
		t.Fatalf("Binaries returned %v, want an error that names %s", err, dir)
	}
	programs(t, dir)
	if got, err := Binaries(t.Context()); err != nil || got != dir {
		t.Fatalf("found %s, want %s (error %v)", got, dir, err)
	}
}

func TestNothingInstalledNamesTheInstallLine(t *testing.T) {
	found := places
	places = nil
	t.Cleanup(func() { places = found })
	t.Setenv("PATH", t.TempDir())
	t.Setenv(BinEnv, "")
	_, err := Binaries(t.Context())
	if !errors.Is(err, ErrNoBinaries) || !strings.Contains(err.Error(), "apt-get install postgresql") ||
		!strings.Contains(err.Error(), "create_main_cluster = false") {
		t.Fatalf("Binaries returned %v, want %v with the install line", err, ErrNoBinaries)
	}
}
