package worldtest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/storytest"
)

// Part is a piece of a page that a test writes.
type Part struct{ Name, Text string }

// Page compares parts of a page of the documentation with what the code says now. Each stands between
//
//	<!-- NAME: written by go test PACKAGE -run TEST -update -->
//	<!-- NAME end -->
//
// With -update it writes them instead: read the diff.
func Page(t *testing.T, file, pkg string, parts ...Part) {
	t.Helper()
	read, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	now := string(read)
	for _, p := range parts {
		begins := fmt.Sprintf("<!-- %s: written by go test %s -run %s -update -->\n", p.Name, pkg, t.Name())
		end := fmt.Sprintf("<!-- %s end -->\n", p.Name)
		before, rest, is := strings.Cut(now, begins)
		_, after, ends := strings.Cut(rest, end)
		if !is || !ends {
			t.Fatalf("%s has no place for the part %q: want the line %q, and its end", file, p.Name, begins)
		}
		now = before + begins + p.Text + end + after
	}
	switch {
	case *update:
		if err := os.WriteFile(file, []byte(now), 0o644); err != nil { //nolint:gosec // others read the documentation
			t.Fatal(err)
		}
	case now != string(read):
		t.Errorf("the code has changed, and %s has not (run with -update, then read the diff):\n%s", file, storytest.FirstDifference(string(read), now))
	}
}
