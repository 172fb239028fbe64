package stamp_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/conchhq/conch/internal/stamp"
)

// A mounted secret is renewed by turning a link.
func TestAnotherTargetIsAnotherFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link, none := filepath.Join(dir, "now"), filepath.Join(dir, "none")
	for name, text := range map[string]string{"one": "a", "two": "bb"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("one", link); err != nil {
		t.Skip(err)
	}
	before := stamp.Of(link, none)
	if before == "" || stamp.Of(link, none) != before {
		t.Errorf("nothing has changed: %q", before)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if gone := stamp.Of(link, none); gone == before {
		t.Error("a file that is gone looks as before")
	}
	if err := os.Symlink("two", link); err != nil {
		t.Fatal(err)
	}
	if stamp.Of(link, none) == before {
		t.Error("another target looks as before")
	}
}
