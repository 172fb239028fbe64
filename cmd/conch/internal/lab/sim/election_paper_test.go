package sim_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
)

var update = flag.Bool("update", false, "write the table of rules in docs/ARCHITECTURE.md anew")

const (
	architecture = "../../../../../docs/ARCHITECTURE.md"
	tableBegins  = "<!-- rules: written by go test ./cmd/conch/internal/lab/sim -run TestRulesArePrinted -update -->\n"
	tableEnds    = "<!-- rules end -->\n"
)

// The page's table of rules is the one that the simulator prints.
func TestRulesArePrinted(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(page), tableBegins)
	printed, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table: want the lines %q and %q", architecture, tableBegins, tableEnds)
	}
	table := ruleTable()
	if *update {
		if err := os.WriteFile(architecture, []byte(before+tableBegins+table+tableEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if printed != table {
		t.Errorf("the table of rules has changed: run go test ./cmd/conch/internal/lab/sim -run TestRulesArePrinted -update, then read the diff\nwant\n%s\ngot\n%s", table, printed)
	}
}

func ruleTable() string {
	var b strings.Builder
	b.WriteString("| rule | what it demands, and what goes wrong without it | breaks | among |\n|---|---|---|---|\n")
	for _, r := range sim.Rules() {
		breaks, among := "nothing", "any"
		if r.Invariant != "" {
			breaks = "`" + r.Invariant + "`"
		}
		if r.Locks != "" {
			among = "locks by " + r.Locks
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Name, strings.ReplaceAll(r.Why, "|", `\|`), breaks, among)
	}
	return b.String()
}

var rulesNamed = regexp.MustCompile("sim (`[a-z-]+`(?:, `[a-z-]+`)*)")

// The simulator knows each rule that the page says is broken there.
func TestNamedRulesExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, found := range rulesNamed.FindAllStringSubmatch(string(page), -1) {
		for name := range strings.SplitSeq(found[1], ", ") {
			name = strings.Trim(name, "`")
			if named++; !slices.ContainsFunc(sim.Rules(), func(r sim.RuleInfo) bool { return r.Name == name }) {
				t.Errorf("the page names the rule %s, which the simulator does not know", name)
			}
		}
	}
	if named < 20 {
		t.Errorf("found only %d names of rules, want at least 20: does the pattern still match?", named)
	}
}
