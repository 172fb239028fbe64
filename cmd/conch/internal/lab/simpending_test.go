//go:build !race

package lab_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/pending/pendingtest"
)

// Z4–Z8: with all rules no promise can be broken; without each rule, by its name, one can. The help has each.
func TestSimPending(t *testing.T) {
	t.Parallel()
	if code, out, said := play("", "pending"); code != 0 || !strings.Contains(out, "no rule helps") {
		t.Errorf("exit code %d\n%s%s", code, out, said)
	}
	_, help, _ := play("", "pending", "--help")
	for _, r := range pendingtest.Rules() {
		code, out, said := play("", "pending", "--break", r.Name)
		if code != 1 || !strings.Contains(said, "can be broken") || !strings.Contains(out, " steps") {
			t.Errorf("without %s: exit code %d\n%s%s", r.Name, code, out, said)
		}
		if !strings.Contains(help, r.Name) || !strings.Contains(help, r.Why) {
			t.Errorf("the help does not say what %s is for", r.Name)
		}
	}
	if code, _, said := play("", "pending", "--break", "pads"); code != 2 || !strings.Contains(said, "no-pad") {
		t.Errorf("a rule that there is not: exit code %d, %s", code, said)
	}
}
