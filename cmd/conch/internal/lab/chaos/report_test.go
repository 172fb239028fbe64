package chaos

import (
	"strings"
	"testing"
)

// A run without violations shows something only if a fault hit somebody.
func TestARunThatHitNobodyShowsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report      Report
		interrupted bool
		says        string
	}{
		"all hit":           {Report{Faults: map[Kind]int{Kill9: 3}}, false, ""},
		"some missed":       {Report{Faults: map[Kind]int{Kill9: 1}, Missed: map[Kind]int{Deaf: 2}}, false, ""},
		"all missed":        {Report{Missed: map[Kind]int{Deaf: 2, Backend: 1}}, false, "all 3 faults found nobody"},
		"and it was ended":  {Report{Missed: map[Kind]int{Deaf: 2}}, true, ""},
		"ended before any":  {Report{}, true, ""},
		"a violation":       {Report{Faults: map[Kind]int{Kill9: 1}, Violations: []Violation{{}}}, false, "1 violations; see"},
		"one without a hit": {Report{Missed: map[Kind]int{Deaf: 1}, Violations: []Violation{{}}}, false, "1 violations; see"},
		"one, and the end":  {Report{Faults: map[Kind]int{Kill9: 1}, Violations: []Violation{{}}}, true, "1 violations; see"},
	} {
		c.report.Replay = "conch-lab chaos --faults 3"
		switch err := c.report.Fault(c.interrupted); {
		case c.says == "" && err != nil:
			t.Errorf("%s: got %v, want no error", name, err)
		case c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says) || !strings.HasSuffix(err.Error(), c.report.Replay)):
			t.Errorf("%s: got %v, want %q and the replay", name, err, c.says)
		}
	}
}
