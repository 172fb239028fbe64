package ui_test

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
)

// What is embedded was built from the sources beside it, whose types are right.
func TestTheBuiltPageIsOfItsSources(t *testing.T) {
	t.Parallel()
	tools := os.Getenv("CONCH_UI_TOOLS")
	if tools == "" {
		runtest.Missing(t, "the tools are not installed: scripts/ui.sh tools installs them from npm, CONCH_UI_TOOLS names their folder")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	again := filepath.Join(t.TempDir(), "dist")
	cmd := exec.CommandContext(ctx, "node", "source/build.mjs", tools, again)
	cmd.WaitDelay = time.Second
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	want, got := filesOf(t, "dist"), filesOf(t, again)
	if !slices.Equal(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))) {
		t.Fatalf("built again it has %q, and dist has %q: run make page", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	for name := range want {
		if !bytes.Equal(want[name], got[name]) {
			t.Errorf("%s is another when it is built again: run make page", name)
		}
	}
}

func filesOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, at fs.DirEntry, err error) error {
		if err != nil || at.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
