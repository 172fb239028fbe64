package gossip

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
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
