package wearmodel

import (
	"fmt"
	"slices"
	"testing"
)

// Z4, Z5, Z6, Z8, W1: with all rules no state breaks a promise, in any world but one, and without any of them some state does.
func TestWearModel(t *testing.T) {
	t.Parallel()
	for _, w := range worlds {
		fault, steps, states := w.explore(broken{})
		if t.Logf("%s: %d states, %s", w.name, states, fault); (fault == "") != w.holds {
			t.Errorf("%s: %q in %d steps", w.name, fault, steps)
		}
	}
	for _, c := range []struct {
		name  string
		rules broken
		world int
		want  string // its fault, and in how many steps
	}{
		{"new-nonce-on-expiry, best head", broken{expiryBest: true}, 1, "forks: twice in 13"},
		{"new-nonce-on-expiry, silent stream", broken{expirySilent: true}, 0, "one branch: twice in 15"},
		{"new-nonce-on-upgrade", broken{upgrade: true}, 3, "forks, upgrades: twice in 12"},
		{"bad-proof-rejects", broken{badProof: true}, 3, "forks, upgrades: false rejected in 9"},
		{"final-by-number", broken{finalByNumber: true}, 1, "forks: false done in 9"},
		{"no-pad", broken{noPad: true}, 5, "reaped: twice in 9"},
		{"immortal", broken{immortal: true}, 5, "reaped: twice in 15"},
		{"life-at-once", broken{lifeAtOnce: true}, 5, "reaped: twice in 19"},
		{"forget-landed", broken{forgetLanded: true}, 5, "reaped: twice in 23"},
	} {
		w := worlds[c.world]
		fault, steps, _ := w.explore(c.rules)
		if got := fmt.Sprintf("%s: %s in %d", w.name, fault, steps); got != c.want {
			t.Errorf("without %s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Each rule by its name: without it some world breaks a promise that it keeps with it. A name that there is not is refused.
func TestBrokenByName(t *testing.T) {
	t.Parallel()
	for _, r := range Rules() {
		all, err := Try(r.Name)
		if err != nil || !slices.ContainsFunc(all, func(one Result) bool { return one.Fault != "" && !one.Hopeless }) {
			t.Errorf("without %s: %+v, error %v", r.Name, all, err)
		}
	}
	if _, err := Try("pads"); err == nil {
		t.Error("there is no rule of that name, and no error")
	}
}
