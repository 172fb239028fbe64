package wearmodel

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is a rule of the design that the model can do without, to show what it is for.
type Rule struct {
	Name, Why string
	broken    broken
}

var rules = []Rule{
	{"no-pad", "a life begins with a filler that is soon dead; else what was signed in the life before gets to our nonces in this one", broken{noPad: true}},
	{"immortal", "attempts wear out; else those of the life before are good in this one for ever", broken{immortal: true}},
	{"life-at-once", "a life begins when all attempts of the one before are dead; else they are next to ours", broken{lifeAtOnce: true}},
	{"forget-landed", "what has landed in a life is done before the next one begins; else it is signed again in that", broken{forgetLanded: true}},
	{"new-nonce-on-expiry", "no intent gets another nonce since its era is over, at a head or at the final block; else both land", broken{expiryBest: true, expirySilent: true}},
	{"new-nonce-on-upgrade", "nor since it was signed for another version; else both land", broken{upgrade: true}},
	{"bad-proof-rejects", "no intent is rejected for a node's words about its signature; else it lands on a branch without the upgrade", broken{badProof: true}},
	{"final-by-number", "what is as high as the final block is final only if that descends from it; else a dead branch ends an intent", broken{finalByNumber: true}},
}

// Rules returns all rules that can be left out.
func Rules() []Rule { return slices.Clone(rules) }

// Result is what came of a world.
type Result struct {
	World    string `json:"world"`
	States   int    `json:"states"`   // that were visited: all, or up to the first fault
	Fault    string `json:"fault"`    // a promise that can be broken; empty if none can
	Steps    int    `json:"steps"`    // after how many it can be
	Hopeless bool   `json:"hopeless"` // no rule keeps this world's promises
}

// Try visits all states of all worlds, without one of the rules or with an empty name with all of them.
func Try(without string) (all []Result, err error) {
	var left broken
	if without != "" {
		at := slices.IndexFunc(rules, func(r Rule) bool { return r.Name == without })
		if at < 0 {
			var names []string
			for _, r := range rules {
				names = append(names, r.Name)
			}
			return nil, fmt.Errorf("there is no rule %q to break: there are %s", without, strings.Join(names, ", "))
		}
		left = rules[at].broken
	}
	for _, w := range worlds {
		one := Result{World: w.name, Hopeless: !w.holds}
		one.Fault, one.Steps, one.States = w.explore(left)
		all = append(all, one)
	}
	return all, nil
}
