package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/ledger"
)

// declared returns a declaration without faults.
func declared(members, needed int) ledger.Contract {
	c := ledger.Contract{Chain: 1337, Address: "0xc0ffee", Needed: needed, Range: 50, Depth: 3, Life: 20, Domain: "notes/1"}
	for i := range members {
		c.Members = append(c.Members, ledger.Account(fmt.Sprint("member ", i)))
	}
	c.Committee = c.Members
	return c
}

// P1: every fault of a declaration is named, and what is dangerous is said.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	good := declared(4, 3)
	if err := good.Validate(); err != nil || good.Warning() != "" {
		t.Errorf("got error %v and the warning %q, want none", err, good.Warning())
	}
	if good.Needed = 2; !strings.Contains(good.Warning(), "no majority") {
		t.Errorf("2 of 4: got the warning %q, want one about majorities", good.Warning())
	}
	short := good
	if short.Life = 2; short.Validate() == nil {
		t.Error("grants of 2 blocks are never used, and there is no fault") // Q16
	}
	bad := ledger.Contract{Members: []ledger.Account{"a", "a", ""}, Committee: []ledger.Account{"b"}, Needed: 4}
	err := bad.Validate()
	for _, want := range []string{"twice among its members", "number 2 of its members", "in its committee and no member", "4 endorsements of 3", "one at least", "no address"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
}

// P1: nodes compare one hash: each field of a declaration is in it.
func TestADeclarationHasOneHash(t *testing.T) {
	t.Parallel()
	base := declared(3, 2)
	hashes := map[ledger.Hash]string{ledger.Plain{}.Declared(base): "as it is"}
	for what, change := range map[string]func(*ledger.Contract){
		"chain":     func(c *ledger.Contract) { c.Chain++ },
		"address":   func(c *ledger.Contract) { c.Address += "0" },
		"members":   func(c *ledger.Contract) { c.Members = c.Members[1:] },
		"order":     func(c *ledger.Contract) { c.Members = []ledger.Account{c.Members[1], c.Members[0], c.Members[2]} },
		"committee": func(c *ledger.Contract) { c.Committee = c.Committee[1:] },
		"needed":    func(c *ledger.Contract) { c.Needed++ },
		"range":     func(c *ledger.Contract) { c.Range++ },
		"depth":     func(c *ledger.Contract) { c.Depth++ },
		"life":      func(c *ledger.Contract) { c.Life++ },
		"domain":    func(c *ledger.Contract) { c.Domain += "0" },
		"policy":    func(c *ledger.Contract) { c.Policy = "ring" },
	} {
		c := base
		change(&c)
		h := ledger.Plain{}.Declared(c)
		if other, is := hashes[h]; is {
			t.Errorf("another %s has the hash of %s", what, other)
		}
		hashes[h] = what
	}
}

// P3: a declaration says how its committee is ranked, and its orders stay as they are. Nothing said is rendezvous.
func TestADeclarationRanksItsCommittee(t *testing.T) {
	t.Parallel()
	c := ledger.Contract{Chain: 1, Address: "0xc0ffee", Members: []ledger.Account{"a", "b", "c", "d"}, Needed: 3, Range: 10, Depth: 1, Life: 9, Domain: "d"}
	c.Committee = c.Members
	for policy, want := range map[string]string{
		"":           "dabc bacd bdca abcd",
		"rendezvous": "dabc bacd bdca abcd",
		"ring":       "dcba dbac cabd dcba",
	} {
		if c.Policy = policy; c.Validate() != nil {
			t.Fatal(c.Validate())
		}
		committee, err := c.Ranking()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for r := range ranking.Range(4) {
			got = append(got, strings.Join(committee.Order(r), ""))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q orders %q, want %q", policy, got, want)
		}
	}
	named := c
	if c.Policy, named.Policy = "", "rendezvous"; (ledger.Plain{}).Declared(c) != (ledger.Plain{}).Declared(named) {
		t.Error("the default has another hash when it is named")
	}
	if c.Policy = "sticky"; c.Validate() == nil || !strings.Contains(c.Validate().Error(), `ranked by "sticky"`) {
		t.Errorf("an unknown policy: %v, want it named", c.Validate())
	}
}

// A declaration that is allowed, and dangerous or slow, is warned of.
func TestWarnings(t *testing.T) {
	t.Parallel()
	fine := ledger.Contract{Members: []ledger.Account{"a", "b", "c"}, Needed: 2, Range: 30, Depth: 2}
	if got := fine.Warning(); got != "" {
		t.Errorf("of %+v: %s", fine, got)
	}
	few, short := fine, fine
	few.Needed, short.Range = 1, 29
	if got := few.Warning(); !strings.HasPrefix(got, "1 endorsement of 3 members is no majority") {
		t.Errorf("one endorsement of three: %q", got)
	}
	if got := short.Warning(); !strings.Contains(got, "29 blocks is shorter than 10 times") {
		t.Errorf("a short range: %q", got)
	}
}
