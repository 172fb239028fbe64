package sim_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/internal/world/worldtest"
)

const architecture = "../../../../../docs/ARCHITECTURE.md"

// The page's table of rules is the one that the simulator prints.
func TestRulesArePrinted(t *testing.T) {
	t.Parallel()
	worldtest.Page(t, architecture, "./cmd/conch/internal/lab/sim", worldtest.Part{Name: "rules", Text: ruleTable()})
}

func ruleTable() string {
	var b strings.Builder
	b.WriteString("| rule | what it demands, and what goes wrong without it | breaks | among |\n|---|---|---|---|\n")
	for _, r := range sim.Simulator().Rules {
		breaks, among := "nothing", "any"
		if r.Invariant != "" {
			breaks = "`" + r.Invariant + "`"
		}
		if r.In.Locks != "" {
			among = "locks by " + r.In.Locks
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
			if named++; sim.Simulator().Rule(name) == nil {
				t.Errorf("the page names the rule %s, which the simulator does not know", name)
			}
		}
	}
	if named < 20 {
		t.Errorf("found only %d names of rules, want at least 20: does the pattern still match?", named)
	}
}
