package gossip

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/gossip"
)

const (
	identity = "[identity]\nname = \"n1\"\nlisten = \"10.0.0.1:7443\"\nkey = \"/etc/conch/identity.pem\"\n"
	n2       = "[[peers]]\nname = \"n2\"\nurl = \"https://10.0.0.2:7443\"\nkey = \"sha256:2222222222222222222222222222222222222222222222222222222222222222\"\n"
	n3       = "[[peers]]\nname = \"n3\"\nurl = \"https://10.0.0.3:7443\"\nca = \"ca.pem\"\n"
	// gossiping begins at line 13 of a file after the others.
	gossiping = "[gossip]\n"
	whole     = identity + n2 + n3 + gossiping
)

// other is the section of another service.
type other struct {
	config.Section
	uses bool
}

func (o other) UsesPeers() bool { return o.uses }

// heads is the section of a service that tells news: a topic for each table.
type heads struct {
	config.Section
	topics []string
}

func (h *heads) Topics() []string { return h.topics }

func (h *heads) Keys(d *config.Decoder) map[string]config.Setter {
	return map[string]config.Setter{h.Table(): func(place string, v any) {
		for i := range d.Tables(place, v) {
			h.topics = append(h.topics, fmt.Sprint(node.LogTopics, i))
		}
	}}
}

func load(t *testing.T, text string) (*Section, config.Config, error) {
	t.Helper()
	logs := func() config.Section { return &heads{Section: configtest.Plain("logs")} }
	rival := func() config.Section {
		return other{configtest.Plain("contracts"), strings.Contains(text, "[[contracts]]")}
	}
	c, err := configtest.Load(t, text, config.Source{Sections: configtest.Beside(peers.Kind().Section, Kind().Section, rival, logs)}, nil)
	return config.Of[*Section](c), c, err
}

// B1: each key of [gossip] reaches the machine.
func TestEveryKey(t *testing.T) {
	t.Parallel()
	s, c, err := load(t, whole+`source = "10.0.0.1"
advertise = "n1.example:443"
contacts = ["n1", "n3"]
electors = ["n2", "n1"]
namespaces = ["uploads", "alerts"]
policy = "epoch"
diameter = 5
round = "300ms"
seniority = 7
`)
	if err != nil {
		t.Fatal(err)
	}
	self, second := gossip.Subject{1}, gossip.Subject{}
	for i := range second {
		second[i] = 0x22
	}
	all := s.namespaces(s.subjects(self))
	switch {
	case s.Source != "10.0.0.1" || s.Advertise != "n1.example:443" || !slices.Equal(s.contacts(), []string{"n3"}):
		t.Errorf("%+v", s)
	case len(all) != 2 || all[0].Name != "uploads" || all[1].Name != "alerts" || all[1].Paper != nil || all[1].Diameter != 5 || all[1].Every != 3:
		t.Errorf("%+v", all)
	case !slices.Equal(all[0].Electors, []gossip.Subject{second, self}):
		t.Errorf("the electors are %v", all[0].Electors)
	case s.Gossip.rank(time.Now()) != 1<<63+7:
		t.Errorf("its seniority is %d", s.Gossip.rank(time.Now()))
	}
	if unit, every := s.pace(); unit != 100*time.Millisecond || every != 3 {
		t.Errorf("%d units of %v", every, unit)
	}
	if e := s.endpoint(nil); !e.Roam || !e.Outward || e.Source != "10.0.0.1" || e.Self != "n1" || len(e.Peers) != 2 {
		t.Errorf("%+v", e)
	}
	if !s.Everywhere() || !s.UsesPeers() || len(c.Settled()) != 0 || c.UsesDatabase() {
		t.Error("it is no service of every node, with peers and without a database")
	}

	s, _, err = load(t, whole+`policy = "paper"
diameter = 6
delta_c = "1ms"
delta_e = "2ms"
delta_d = "3ms"
delta_r = "4ms"
tenure = "5s"
hysteresis = 2
random_on_tie = true
`)
	if err != nil {
		t.Fatal(err)
	}
	p := s.namespaces(nil)[0].Paper
	if p.Diameter != 6 || p.DeltaC != time.Millisecond || p.DeltaE != 2*time.Millisecond || p.DeltaD != 3*time.Millisecond || p.DeltaR != 4*time.Millisecond || p.Tenure != 5*time.Second || p.Hysteresis != 2 || !p.RandomOnTie {
		t.Errorf("%+v", p)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	s, _, err := load(t, whole)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Unix(1000, 0)
	all := s.namespaces(s.subjects(gossip.Subject{1}))
	if !slices.Equal(s.contacts(), []string{"n2", "n3"}) || s.Advertise != "10.0.0.1:7443" || len(all) != 1 || all[0].Name != "default" || all[0].Paper != nil || all[0].Every != 0 || len(all[0].Electors) > 0 {
		t.Errorf("%+v, %+v", s, all)
	}
	if older, younger := s.Gossip.rank(began), s.Gossip.rank(began.Add(time.Second)); older <= younger || older != math.MaxInt64-1000 {
		t.Errorf("an older node has the seniority %d, and a younger one %d", older, younger)
	}
	if s, _, err := load(t, whole+"contacts = []\n"); err != nil || len(s.contacts()) != 0 {
		t.Errorf("without contacts: %v, %v", s, err)
	}
	if s, c, err := load(t, "[[roles]]\nname = \"a\"\n"+identity+n2); err != nil || s.Everywhere() || s.UsesPeers() || !c.UsesDatabase() {
		t.Errorf("without [gossip] it has work: %v", err)
	}
	for round, want := range map[string]struct {
		unit  time.Duration
		every int
	}{"50ms": {50 * time.Millisecond, 1}, "100ms": {100 * time.Millisecond, 1}, "1s": {100 * time.Millisecond, 10}, "2s": {100 * time.Millisecond, 20}} {
		s, _, err := load(t, whole+"round = \""+round+"\"\n")
		if err != nil {
			t.Fatal(err)
		}
		unit, every := s.pace()
		if n := s.namespaces(nil)[0].WithDefaults(); unit != want.unit || every != want.every || n.Every != want.every {
			t.Errorf("a round of %s is %d units of %v: %+v", round, every, unit, n)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	but := func(old, text string) string {
		if !strings.Contains(whole, old) {
			t.Fatalf("%q is not in the file", old)
		}
		return strings.Replace(whole, old, text, 1)
	}
	long := strings.Repeat("n", 65)
	for _, c := range []struct {
		name, text string
		says       []string
	}{
		{"an unknown key", whole + "elector = []\n", []string{"line 14, gossip.elector", `"electors"`}},
		{"no identity", n2 + gossiping, []string{"identity.name: is missing", "identity.listen: is missing", "identity.key: is missing"}},
		{"private contracts beside it", whole + "[[contracts]]\n", []string{"line 13, gossip: [gossip] and [[contracts]] cannot share a node", "Run two nodes"}},
		{"too many logs", whole + strings.Repeat("[[logs]]\n", 33), []string{"line 14, logs: 33 logs are too many"}},
		{"nobody could connect", identity + gossiping, []string{"line 5, gossip: nobody could connect", "[[peers]]", "identity.ca"}},
		{"a source with a port", whole + "source = \"10.0.0.1:1\"\n", []string{"line 14, gossip.source", "is not an IP address"}},
		{"a listener on all addresses", but("10.0.0.1:7443", "0.0.0.0:7443"), []string{"gossip.advertise: is missing: nobody can connect to 0.0.0.0:7443"}},
		{"a listener on all addresses of IPv6", but("10.0.0.1:7443", "[::]:7443"), []string{"gossip.advertise: is missing"}},
		{"a listener without a host", but("10.0.0.1:7443", ":7443"), []string{"gossip.advertise: is missing"}},
		{"a listener without a port", but("10.0.0.1:7443", "10.0.0.1"), []string{"line 3, identity.listen", "is not host:port"}},
		{"an address without a port", whole + "advertise = \"n1\"\n", []string{"line 14, gossip.advertise", "is not host:port"}},
		{"an address of nobody", whole + "advertise = \"0.0.0.0:1\"\n", []string{"line 14, gossip.advertise: nobody can connect"}},
		{"an unknown contact", whole + "contacts = [\"n2\", \"n9\"]\n", []string{"line 14, gossip.contacts[1]: \"n9\" is none of the [[peers]]"}},
		{"an unknown elector", whole + "electors = [\"n9\"]\n", []string{"line 14, gossip.electors[0]: \"n9\" is neither this node nor one of the [[peers]]"}},
		{"an elector without a key", whole + "electors = [\"n3\"]\n", []string{"gossip.electors[0]: \"n3\" has no key", "conch identity show"}},
		{"an elector twice", whole + "electors = [\"n1\", \"n1\"]\n", []string{"gossip.electors[1]: \"n1\" is there twice"}},
		{"too many electors", whole + "electors = [" + strings.Repeat("\"n1\",", 65) + "]\n", []string{"gossip.electors: 65 are too many: 64 at most"}},
		{"no namespace", whole + "namespaces = []\n", []string{"line 14, gossip.namespaces: is empty", `["default"]`}},
		{"a long namespace", whole + "namespaces = [\"" + long + "\"]\n", []string{"gossip.namespaces[0]", "has 65 bytes"}},
		{"a namespace without a name", whole + "namespaces = [\"\"]\n", []string{"gossip.namespaces[0]", "has 0 bytes"}},
		{"a namespace twice", whole + "namespaces = [\"a\", \"a\"]\n", []string{"gossip.namespaces[1]: \"a\" is there twice"}},
		{"another policy", whole + "policy = \"vote\"\n", []string{"line 14, gossip.policy: \"vote\" is none of reign, paper"}},
		{"a small diameter", whole + "diameter = 1\n", []string{"line 14, gossip.diameter: 1 is too little"}},
		{"no diameter", whole + "diameter = 0\n", []string{"line 14, gossip.diameter: 0 is too little"}},
		{"no diameter of paper", whole + "policy = \"paper\"\ndiameter = 0\n", []string{"line 15, gossip.diameter: 0 is too little"}},
		{"a short round", whole + "round = \"1ms\"\n", []string{"line 14, gossip.round: 1ms is not between"}},
		{"an odd round", whole + "round = \"250ms\"\n", []string{"gossip.round: 250ms is not a multiple of 100ms"}},
		{"electors of paper", whole + "policy = \"paper\"\nelectors = [\"n2\"]\n", []string{"gossip.electors: policy paper knows no electors"}},
		{"a round of paper", whole + "policy = \"paper\"\nround = \"1s\"\n", []string{"line 15, gossip.round", "delta_r"}},
		{"a key of paper", whole + "tenure = \"1s\"\nhysteresis = 1\n", []string{"line 14, gossip.tenure: is of policy paper alone", "line 15, gossip.hysteresis"}},
		{"phases out of order", whole + "policy = \"paper\"\ndelta_e = \"900ms\"\n", []string{"line 13, gossip: has the phases"}},
		{"a seniority below 0", whole + "seniority = -1\n", []string{"line 14, gossip.seniority"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := load(t, c.text)
			configtest.Faults(t, err, c.says, "nothing to lead")
		})
	}
}

// What a reload cannot change is named, by its key; peers and seniority it can.
func TestRestarts(t *testing.T) {
	t.Parallel()
	base := whole + "electors = [\"n1\", \"n2\"]\n"
	_, began, err := load(t, base)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", base, nil},
		{"a peer more, and another seniority", base + "seniority = 1\n" + strings.ReplaceAll(n3, "n3", "n4"), []string{"peers"}},
		{"a peer less", strings.Replace(base, n3, "", 1), []string{"peers"}},
		{"another seniority, and peers in another order", strings.Replace(base, n3, "", 1) + "seniority = 1\n" + n3, nil},
		{"no gossip", "[[roles]]\nname = \"a\"\n" + identity + n2, []string{"gossip"}},
		{"another name", strings.Replace(base, "\"n1\"\nlisten", "\"n7\"\nlisten", 1) + strings.Replace(strings.ReplaceAll(n2, "n2", "n1"), "22", "33", 1), []string{"identity", "peers", "gossip.electors"}},
		{"an elector with another key", strings.Replace(base, "2222", "3333", 1), []string{"peers", "gossip.electors"}},
		{"a peer that is no elector with a key of its own", strings.Replace(base, "ca = \"ca.pem\"", "key = \"sha256:"+strings.Repeat("3", 64)+"\"", 1), []string{"peers"}},
		{"an elector elsewhere", strings.Replace(base, "10.0.0.2", "10.0.0.9", 1), []string{"peers", "gossip.electors"}},
		{"fewer electors", whole + "electors = [\"n1\"]\n", []string{"gossip.electors"}},
		{"contacts", base + "contacts = [\"n2\"]\n", []string{"gossip.contacts"}},
		{"all others", base + "source = \"10.0.0.1\"\nadvertise = \"n1:1\"\nnamespaces = [\"a\"]\ndiameter = 3\nround = \"1s\"\n",
			[]string{"gossip.source", "gossip.advertise", "gossip.namespaces", "gossip.diameter", "gossip.round"}},
		{"another policy", whole + "policy = \"paper\"\ndelta_c = \"1ms\"\ndelta_e = \"2ms\"\ndelta_d = \"3ms\"\ndelta_r = \"4ms\"\ntenure = \"1s\"\nhysteresis = 3\nrandom_on_tie = true\n",
			[]string{"gossip.electors", "gossip.policy", "gossip.delta_c", "gossip.delta_e", "gossip.delta_d", "gossip.delta_r", "gossip.tenure", "gossip.hysteresis", "gossip.random_on_tie"}},
	} {
		_, fresh, err := load(t, c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := new(Section).Restarts(began, fresh); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// What is shipped as examples is accepted.
func TestTheShippedExamples(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gossip.toml", "gossip-ca.toml"} {
		text, err := os.ReadFile(filepath.FromSlash("../../../../../examples/" + name))
		if err != nil {
			t.Fatal(err)
		}
		if s, _, err := load(t, string(text)); err != nil || !s.there {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A node whose own address is of its host may be told of others there, and no other node may.
func TestWhoIsDialledOnThisHost(t *testing.T) {
	t.Parallel()
	for advertise, outward := range map[string]bool{"n1.example:7443": true, "10.0.0.1:7443": true, "127.0.0.1:7443": false, "localhost:7443": false} {
		s, _, err := load(t, whole+"advertise = \""+advertise+"\"\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := s.endpoint(nil).Outward; got != outward {
			t.Errorf("of a node at %s: got Outward %v, want %v", advertise, got, outward)
		}
	}
}
