package gossip

import (
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// What has to be the same on all nodes is compared, in whatever order the lists are, and whichever node says it; the rest is not.
func TestWhatIsCompared(t *testing.T) {
	t.Parallel()
	self := gossip.Subject{1}
	base, _, err := load(t, whole+"electors = [\"n1\", \"n2\"]\nnamespaces = [\"a\", \"b\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"electors = [\"n2\", \"n1\"]\nnamespaces = [\"b\", \"a\"]\nround = \"100ms\"\ndiameter = 4\nseniority = 4\ncontacts = []\nsource = \"10.0.0.9\"\n": "",
		"electors = [\"n1\"]\nnamespaces = [\"a\", \"b\"]\n":                                          "electors",
		"electors = [\"n1\", \"n2\"]\n":                                                               "namespaces",
		"electors = [\"n1\", \"n2\"]\nnamespaces = [\"a\", \"b\"]\nround = \"200ms\"\ndiameter = 7\n": "diameter round",
		"namespaces = [\"a\", \"b\"]\npolicy = \"paper\"\ntenure = \"1s\"\n":                          "policy",
	} {
		other, _, err := load(t, whole+text)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(differences(base.claims(self), other.claims(self)), " "); got != want {
			t.Errorf("%q differs in %q, want %q", text, got, want)
		}
	}
}

// A node whose file has a default differs from no other.
func TestDefaultsDoNotDiffer(t *testing.T) {
	t.Parallel()
	for short, long := range map[string]string{
		"":                     "round = \"1s\"\ndiameter = 4\npolicy = \"reign\"\nnamespaces = [\"default\"]\n",
		"policy = \"paper\"\n": "policy = \"paper\"\ndiameter = 8\ndelta_c = \"50ms\"\ndelta_e = \"100ms\"\ndelta_d = \"200ms\"\ndelta_r = \"300ms\"\n",
	} {
		a, _, err := load(t, whole+short)
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := load(t, whole+long)
		if err != nil {
			t.Fatal(err)
		}
		if keys := differences(a.claims(gossip.Subject{1}), b.claims(gossip.Subject{2})); keys != nil {
			t.Errorf("%q and %q differ in %v", short, long, keys)
		}
	}
}

// Bad input: two nodes that are configured otherwise name the keys that differ, and each other, once.
func TestNeighboursThatDiffer(t *testing.T) {
	t.Parallel()
	all, fronts := site(t, 2)
	for _, f := range fronts {
		_ = f.Close()
	}
	s := *config.Of[*Section](all[1])
	s.Diameter = 9
	a, b := host(t), host(t)
	a.start(t, all[0])
	b.start(t, config.Config{Sections: []config.Section{&s}})
	for _, h := range []*hosted{a, b} {
		peer := map[*hosted]string{a: "n1", b: "n0"}[h]
		h.log.Says(t, "the neighbour has another [gossip]", "peer="+peer, "keys=diameter")
		now, _ := h.Member()
		pgtest.Eventually(t, nodetest.Patience, "the difference is shown", func() bool { return slices.Equal(now.Differs(peer), []string{"diameter"}) })
		now.(*member).compare(h.frame.Log, map[string]string{peer: "diameter"})
	}
	if n := len(slices.DeleteFunc(a.log.Lines(), func(l string) bool { return !strings.Contains(l, "another [gossip]") })); n != 1 {
		t.Errorf("the difference is named in %d lines, want one", n)
	}
	now, _ := a.Member()
	now.(*member).compare(a.frame.Log, map[string]string{"n1": "electors"})
	a.log.Says(t, "the neighbour has another [gossip]", "keys=diameter")
	if now.Differs("n7") != nil {
		t.Error("a node that was never heard differs")
	}
}
