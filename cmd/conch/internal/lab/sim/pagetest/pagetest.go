// Package pagetest keeps pages of the documentation as the simulated worlds are: a test writes the tables of their scenes and rules.
package pagetest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/internal/storytest"
)

// Part is a piece of a page that a test writes.
type Part struct{ Name, Text string }

// Compare compares parts of a page of the documentation with what the code says now. Each stands between
//
//	<!-- NAME: written by go test PACKAGE -run TEST -update -->
//	<!-- NAME end -->
//
// With update it writes them instead: read the diff.
func Compare(t *testing.T, update bool, file, pkg string, parts ...Part) {
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
	case update:
		if err := os.WriteFile(file, []byte(now), 0o644); err != nil { //nolint:gosec // others read the documentation
			t.Fatal(err)
		}
	case now != string(read):
		t.Errorf("the code has changed, and %s has not (run with -update, then read the diff):\n%s", file, storytest.FirstDifference(string(read), now))
	}
}

// Scenes is the table of a simulated world's scenes.
func Scenes(names, what []string) Part {
	var b strings.Builder
	b.WriteString("| scene | what it is |\n|---|---|\n")
	for i, name := range names {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, what[i])
	}
	return Part{"scenes", b.String()}
}

// Rules is the table of the rules that a simulated world can leave out.
func Rules(rules []sim.RuleInfo) Part {
	var b strings.Builder
	b.WriteString("| rule | what falls | what it demands, and what goes wrong without it |\n|---|---|---|\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, r.Invariant, r.Why)
	}
	return Part{"rules", b.String()}
}
