package crowd_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/sim/crowd"
	"github.com/conchhq/conch/internal/storytest"
)

const page = "../../../docs/gossip-figures.md"

// The page has the scenes and rules of this package.
func TestThePageIsPrinted(t *testing.T) {
	t.Parallel()
	read, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	now := string(read)
	for _, part := range []struct{ name, text string }{{"rules", ruleTable()}, {"scenes", sceneTable()}} {
		begins := fmt.Sprintf("<!-- %s: written by go test ./internal/sim/crowd -run TestThePageIsPrinted -update -->\n", part.name)
		before, rest, is := strings.Cut(now, begins)
		_, after, ends := strings.Cut(rest, fmt.Sprintf("<!-- %s end -->\n", part.name))
		if !is || !ends {
			t.Fatalf("%s has no place for the part %q: want the line %q, and its end", page, part.name, begins)
		}
		now = before + begins + part.text + fmt.Sprintf("<!-- %s end -->\n", part.name) + after
	}
	switch {
	case *update:
		if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	case now != string(read):
		t.Errorf("the code has changed, and %s has not (run with -update, then read the diff):\n%s", page, storytest.FirstDifference(string(read), now))
	}
}

func sceneTable() string {
	var b strings.Builder
	b.WriteString("| scene | what it is |\n|---|---|\n")
	names, what := crowd.Scenes()
	for i, name := range names {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, what[i])
	}
	return b.String()
}

func ruleTable() string {
	var b strings.Builder
	b.WriteString("| rule | what falls | what it demands, and what goes wrong without it |\n|---|---|---|\n")
	for _, r := range crowd.Rules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, r.Invariant, r.Why)
	}
	return b.String()
}
