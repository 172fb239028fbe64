package gossip

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/transport/mtls"
)

// Bad input: what would keep this node from an overlay is named, with a remedy.
func TestFindings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		facts      facts
		status     doctor.Status
		says       []string
	}{
		{"all is well", whole, facts{}, doctor.OK, []string{"2 contacts, everybody may lead, policy reign", "hint"}},
		{"electors", whole + "electors = [\"n1\"]\n", facts{}, doctor.OK, []string{"1 elector,"}},
		{"another key", whole, facts{key: errors.New("it is of RSA")}, doctor.Fail, []string{"it is of RSA", "conch identity new"}},
		{"an address of nobody", whole, facts{nowhere: errors.New("no such host")}, doctor.Warn, []string{"10.0.0.1:7443", "no such host", "gossip.advertise"}},
		{"an address of somebody else", whole, facts{foreign: "the key is another one"}, doctor.Fail, []string{"10.0.0.1:7443", "somebody else", "another one", "gossip.advertise"}},
		{"an address without an answer", whole, facts{away: "refused"}, doctor.Warn, []string{"10.0.0.1:7443", "this node runs", "refused", "gossip.advertise"}},
		{"two electors", whole + "electors = [\"n1\", \"n2\"]\n", facts{}, doctor.Warn, []string{"nobody leads", "three"}},
		{"four electors", identity + n2 + strings.ReplaceAll(n2, "2", "4") + strings.ReplaceAll(n2, "2", "5") + gossiping + "electors = [\"n1\", \"n2\", \"n4\", \"n5\"]\n", facts{}, doctor.Warn, []string{"4 electors", "as of 3", "add one"}},
		{"no contact", whole + "contacts = []\n", facts{}, doctor.Warn, []string{"alone", "gossip.contacts"}},
	} {
		s, _, err := load(t, c.text)
		if err != nil {
			t.Fatal(err)
		}
		c.facts.section = s
		found := judge(c.facts)
		if len(found) != 1 || found[0].Status != c.status || (found[0].Remedy == "") != (c.status == doctor.OK) {
			t.Errorf("%s: got %+v, want one that is %v", c.name, found, c.status)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(found[0].Detail+" "+found[0].Remedy, part) {
				t.Errorf("%s: got %+v, want %q in it", c.name, found[0], part)
			}
		}
	}
}

// A key of another kind cannot sign statements: it is refused before the node starts, and the doctor says so.
func TestAKeyOfAnotherKind(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	good, other := filepath.Join(t.TempDir(), "good.pem"), filepath.Join(t.TempDir(), "other.pem")
	if _, err := mtls.CreateIdentity(good); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{good: "", other: "Ed25519"} {
		s, c, err := load(t, strings.NewReplacer("/etc/conch/identity.pem", file, "10.0.0.1:7443", "127.0.0.1:1").Replace(whole)) // nobody is there
		if err != nil {
			t.Fatal(err)
		}
		var faults []string
		check(c, func(key string, err error) {
			if err != nil {
				faults = append(faults, key+": "+err.Error())
			}
		})
		text := strings.Join(faults, "\n")
		if (want == "") != (text == "") || !strings.Contains(text, want) {
			t.Errorf("%s has the faults %q, want %q", file, text, want)
		}
		if found := examine(t.Context(), c); (want != "") != (found[0].Status == doctor.Fail) || !strings.Contains(found[0].Detail, want) {
			t.Errorf("%s: the doctor finds %+v", file, found)
		}
		if _, err := s.join(surroundings{}); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: it joins, %v", file, err)
		}
	}
	_, c, err := load(t, "[[roles]]\nname = \"a\"\n")
	if err != nil {
		t.Fatal(err)
	}
	check(c, func(key string, err error) { t.Errorf("without [gossip]: %s: %v", key, err) })
	if found := examine(t.Context(), c); found != nil {
		t.Errorf("without [gossip] the doctor finds %+v", found)
	}
}

// The doctor asks who is at the address that this node gives to the others. Nobody is, while it does not run.
func TestWhoAnswersAtTheAdvertisedAddress(t *testing.T) {
	t.Parallel()
	listen := func(name string) (address string, own mtls.Fingerprint) {
		key := filepath.Join(t.TempDir(), name+".pem")
		id, err := mtls.CreateIdentity(key)
		if err != nil {
			t.Fatal(err)
		}
		e, err := mtls.New(mtls.Config{Self: name, Listen: "127.0.0.1:0", Key: key, Roam: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		t.Cleanup(func() { stop(); <-ended })
		return e.Addr().String(), id.Fingerprint()
	}
	here, own := listen("n1")
	there, _ := listen("n2")
	const nobody, none = "127.0.0.1:1", "127.0.0.1:2"
	for what, c := range map[string]struct{ listen, advertise, away, foreign string }{
		"this node":                         {here, here, "", ""},
		"this node, by another address":     {nobody, here, "", ""},
		"nobody, and this node runs":        {here, nobody, "refused", ""},
		"nobody, and this node is not here": {none, nobody, "", ""},
		"nobody, and there is one address":  {nobody, nobody, "", ""},
		"nobody, and another node is here":  {there, nobody, "", ""},
		"another node":                      {here, there, "", "and not the one"},
	} {
		s := &Section{Gossip: Gossip{Advertise: c.advertise}, peers: peers.Directory{Identity: peers.Identity{Name: "n1", Listen: c.listen}}}
		away, foreign := s.answers(t.Context(), own)
		if (away == "") != (c.away == "") || !strings.Contains(away, c.away) || (foreign == "") != (c.foreign == "") || !strings.Contains(foreign, c.foreign) {
			t.Errorf("%s: got %q and %q, want %q and %q", what, away, foreign, c.away, c.foreign)
		}
	}
}

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

// Of two processes with one identity the second is not let in. The node that refuses it names it to its operator, and so does the second
// process itself; the first one hears nothing of that.
func TestASecondHostWithOneIdentity(t *testing.T) {
	t.Parallel()
	all, fronts := site(t, 2)
	for _, f := range fronts {
		_ = f.Close()
	}
	a, b, copied := host(t), host(t), host(t)
	a.start(t, all[0])
	b.start(t, all[1])
	pgtest.Eventually(t, nodetest.Patience, "both name one leader", func() bool { return a.leader() != "" && a.leader() == b.leader() })
	disk := *config.Of[*Section](all[1])
	disk.peers.Identity.Listen, disk.Advertise = "127.0.0.1:0", "127.0.0.1:0"
	copied.start(t, config.Config{Sections: []config.Section{&disk}})
	pgtest.Eventually(t, nodetest.Patience, "it is named", func() bool { return slices.Equal(namesIn(a.Twins()), []string{"n1"}) })
	pgtest.Eventually(t, nodetest.Patience, "it names itself", func() bool { return slices.Equal(namesIn(copied.Twins()), []string{"n1"}) })
	a.log.Says(t, "two hosts have its key")
	copied.log.Says(t, "two hosts have its key")
}

func namesIn(all []Twin) (names []string) {
	for _, one := range all {
		names = append(names, one.Name)
	}
	return names
}

// What is kept of twins is bounded, and ends: soon it is said that they were there, and after an hour nothing.
func TestTwinsAreForgotten(t *testing.T) {
	t.Parallel()
	all, now := new(twins), time.Unix(0, 0)
	for i := range 2 * mostTwins {
		all.see(fmt.Sprint("n", i), now)
	}
	over := func() int {
		return len(slices.DeleteFunc(all.all(now), func(one Twin) bool { return !one.Over }))
	}
	if n := len(all.all(now)); n != mostTwins || over() != 0 {
		t.Errorf("%d are kept, %d of them as gone, want %d and none", n, over(), mostTwins)
	}
	now = now.Add(twinsOver + 1)
	all.see("n0", now)
	if got := all.all(now); len(got) != mostTwins || over() != mostTwins-1 || got[0].Over || !got[1].LastSeen.Equal(time.Unix(0, 0)) {
		t.Errorf("two minutes later there are %+v", got)
	}
	now = now.Add(twinsFor + 1)
	all.see(called(gossip.Node{Name: "new"}), now)
	if got := namesIn(all.all(now)); !slices.Equal(got, []string{"new"}) {
		t.Errorf("an hour later there are %q", got)
	}
}

// The only contact has another key of this node than it has: the node knows that it is refused, its status says so, and so does the
// doctor, which asks the node.
func TestAPeerThatRefusesThisNode(t *testing.T) {
	t.Parallel()
	all, fronts := site(t, 2)
	for _, f := range fronts {
		_ = f.Close()
	}
	other := filepath.Join(t.TempDir(), "other.pem")
	id, err := mtls.CreateIdentity(other)
	if err != nil {
		t.Fatal(err)
	}
	strict := *config.Of[*Section](all[0])
	strict.peers.Peers[0].Key = id.Fingerprint().String() // an old one
	a, b := host(t), host(t)
	a.start(t, config.Config{Sections: []config.Section{&strict}})
	b.start(t, all[1])
	site := httptest.NewServer(webtest.Site(t, &webtest.Log{}, b.Routes(), func(c *web.Config) { c.Board = web.NewBoard() }).API())
	defer site.Close()
	c := all[1]
	c.Node.Listen = strings.TrimPrefix(site.URL, "http://")
	var found []doctor.Finding
	pgtest.Eventually(t, nodetest.Patience, "the doctor hears of it", func() bool {
		found = examineRunning(t.Context(), c, "n1")
		// The first call may have ended before the refusal was read.
		return len(found) > 0 && strings.Contains(found[len(found)-1].Detail, "refuses this node")
	})
	text := found[0].Detail + found[len(found)-1].Detail + found[len(found)-1].Remedy
	for _, part := range []string{"the running node says", "n0 refuses this node", "n1 has no neighbour", config.Of[*Section](all[1]).peers.Identity.Name} {
		if !strings.Contains(text, part) {
			t.Errorf("%+v: want %q in it", found, part)
		}
	}
	if found[0].Status != doctor.Fail {
		t.Errorf("a node that nobody lets in is no failure: %+v", found[0])
	}
	for what, change := range map[string]func(*config.Config) string{
		"another node":    func(*config.Config) string { return "n7" },
		"nobody":          func(c *config.Config) string { c.Node.Listen = "127.0.0.1:1"; return "n1" },
		"a node without":  func(c *config.Config) string { c.Node.Listen = config.Off; return "n1" },
		"no socket there": func(c *config.Config) string { c.Node.Listen = "/nowhere/conch.sock"; return "n1" },
	} {
		c := c
		if found := examineRunning(t.Context(), c, change(&c)); len(found) > 0 && what == "another node" {
			t.Errorf("%s: %+v", what, found)
		}
		if found := examineRunning(t.Context(), c, "n1"); c.Node.Listen != strings.TrimPrefix(site.URL, "http://") && len(found) > 0 {
			t.Errorf("%s: %+v", what, found)
		}
	}
	c.Node.ReadTokenFile = filepath.Join(t.TempDir(), "none")
	if found := examineRunning(t.Context(), c, "n1"); len(found) != 1 || found[0].Status != doctor.Warn || !strings.Contains(found[0].Detail, "token") {
		t.Errorf("a token that cannot be read: %+v", found)
	}
}
