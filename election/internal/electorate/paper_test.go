package electorate_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/conchhq/conch/election/internal/electorate"
)

const architecture = "../../../docs/ARCHITECTURE.md"

var rulesNamed = regexp.MustCompile("sim (`[a-z-]+`(?:, `[a-z-]+`)*)")

// The simulator knows each rule that the page names; its help has the others.
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
			if named++; electorate.Simulator().Rule(name) == nil {
				t.Errorf("the page names the rule %s, which the simulator does not know", name)
			}
		}
	}
	if named < 10 {
		t.Errorf("found only %d names of rules, want at least 10: does the pattern still match?", named)
	}
}
