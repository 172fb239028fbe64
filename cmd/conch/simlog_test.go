package main_test

import (
	"strings"
	"testing"
)

// Equal flags give equal runs, one run is told, and a broken rule prints the command that shows it again.
func TestSimLog(t *testing.T) {
	t.Parallel()
	r := alike(t, "log --members 3 --faults 10s --loss 5", 5)
	if r.Stats["acknowledged"] == 0 || r.Stats["leaders"] == 0 {
		t.Errorf("sim prints %+v, want acknowledged goals and leaders", r)
	}
	narrates(t, "log --story same-answer", "leads in term 2", "dies there", "once more", "expect answer entry 2,", "no invariant was violated")
	narrates(t, "txlog --scene lost-majority", "conch log recover")
	shownAgain(t, "log", "hold")
	for flags, want := range map[string]string{
		"--nodes 61": "1 to 60", "--members 4 --nodes 3": "4 members of 3", "--scene heaven": "there is no scene", "--break nothing": "there is no rule",
		"--runs 0": "--runs must be 1 or more", "--trace --runs 2": "--trace shows one run",
	} {
		conch(t, append([]string{"sim", "log"}, strings.Fields(flags)...)...).refused(t, 2, want)
	}
}
