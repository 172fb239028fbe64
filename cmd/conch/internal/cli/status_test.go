package cli

import (
	"testing"

	"github.com/conchhq/conch/election/pgops"
)

// F8: status says what the page says of a leader whose act door is still shut.
func TestStateOfALeadership(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]pgops.ScopeStatus{
		"gone":           {},
		"released":       {Released: true},
		"leads":          {Held: true},
		"leads, holding": {Held: true, Holding: true},
		"leads, holding; failed once in 10m: the command ended with code 3": {Held: true, Holding: true, Failures: 1, LastFailure: "the role ended: the command ended with code 3"},
	} {
		if got := stateOf(l); got != want {
			t.Errorf("%+v: %q, want %q", l, got, want)
		}
	}
}
