package cli

import (
	"slices"
	"strings"
	"testing"
)

// Each step is said once, also when the node starts again and begins a new story, or shows the last state alone.
func TestUnsaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		steps, said string
		away        bool
		want        string
	}{
		{"a b", "", false, "a b"},
		{"a b", "a", false, "b"},
		{"a b", "b", false, ""},
		{"a b", "b", true, "b"},
		{"a b c", "b", true, "c"},
		{"a b a", "a", false, ""},
		{"c", "b", false, "c"},
		{"", "b", true, ""},
	} {
		if got := unsaid(strings.Fields(c.steps), c.said, c.away); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("of %q after %q: got %q, want %q", c.steps, c.said, got, c.want)
		}
	}
}
