package main_test

import (
	"strings"
	"testing"
)

// Equal flags give equal runs, a small crowd is told, and a broken rule prints the command that shows it again.
func TestSimGossip(t *testing.T) {
	t.Parallel()
	r := alike(t, "gossip --electors 5 --rounds 100 --loss 5", 12)
	if r.Stats["agreements"] == 0 || r.Stats["bytes"] == 0 {
		t.Errorf("sim prints %+v, want agreements", r)
	}
	for _, figure := range []string{
		"agreements", "agreement_tenths_max", "needless_reigns", "without_leader_tenths", "two_leaders_tenths", "messages", "bytes", "overlay_bytes",
	} {
		if _, is := r.Stats[figure]; !is {
			t.Errorf("the report lacks %s: %v", figure, r.Stats)
		}
	}
	narrates(t, "gossip --story leader-killed", "leads, reign 1", "dies", "leads, reign 2", "no invariant was violated")
	shownAgain(t, "gossip", "own-signature")
	// Without a seed it says which one it has taken, and several runs begin with it.
	for flags, want := range map[string]uint64{"--nodes 3 --scene cold": 1, "--nodes 3 --scene cold --runs 2": 1} {
		said := conch(t, append(strings.Fields("sim gossip --json --rounds 100 "), strings.Fields(flags)...)...)
		if r := decode[simReport](t, said.out); r.Seed != want {
			t.Errorf("%s says that its seed is %d, want %d", flags, r.Seed, want)
		}
	}
	one, two, both := int64(0), int64(0), int64(0)
	for flags, messages := range map[string]*int64{"--seed 1": &one, "--seed 2": &two, "--runs 2": &both} {
		args := append(strings.Fields("sim gossip --json --rounds 100 --nodes 3 --scene cold"), strings.Fields(flags)...)
		*messages = decode[simReport](t, conch(t, args...).done(t)).Stats["messages"]
	}
	if one+two != both {
		t.Errorf("two runs have %d messages, and those with the seeds 1 and 2 have %d and %d", both, one, two)
	}
	conch(t, "sim", "gossip", "--policy", "vote").refused(t, 2, `no policy "vote"`, "reign", "paper")
	for flags, want := range map[string]string{
		"--nodes 5001": "1 to 5,000", "--electors 9 --nodes 5": "9 electors of 5", "--scene heaven": "there is no scene", "--break nothing": "there is no rule",
		"--runs 0": "--runs must be 1 or more", "--trace --runs 2": "--trace shows one run",
	} {
		conch(t, append([]string{"sim", "gossip"}, strings.Fields(flags)...)...).refused(t, 2, want)
	}
}
