package peers

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/transport/mtls"
)

// Bad input: an identity that cannot be used and a peer with another key are named, each with a remedy.
func TestFindings(t *testing.T) {
	t.Parallel()
	own, err := mtls.CreateIdentity(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	none := errors.New("there is no key")
	for _, c := range []struct {
		name   string
		got    []doctor.Finding
		status doctor.Status
		says   []string // of detail and remedy
	}{
		{"an identity", self(judgeSelf(own, keyOfKey, nil, nil)), doctor.OK, []string{"prove", own.Fingerprint().String()}},
		{"no identity", self(judgeSelf(own, keyOfKey, none, errors.New("no name"))), doctor.Fail, []string{"there is no key", "identity.key"}},
		{"another certificate", self(judgeSelf(own, keyOfCertificate, none, nil)), doctor.Fail, []string{"there is no key", "identity.certificate"}},
		{"a certificate of another name", self(judgeSelf(own, keyOfCertificate, nil, errors.New("for n2"))), doctor.Warn, []string{"for n2", "identity.name"}},
		{"peers", judgePeers([]partner{{name: "north"}, {name: "east"}}), doctor.OK, []string{"2 peers answer"}},
		{"a peer that is away", judgePeers([]partner{{name: "north", away: "refused"}}), doctor.Warn, []string{`"north" does not answer: refused`, "url"}},
		{"a peer with another key", judgePeers([]partner{{name: "north", away: "x", foreign: "the key is sha256:1"}}), doctor.Fail, []string{`"north": the key is sha256:1`, "conch identity show"}},
		{"a peer whose certificate has ended", judgePeers([]partner{{name: "north", away: "x", foreign: "the certificate of north ended 2h0m0s ago", ended: true}}), doctor.Fail, []string{`"north": the certificate of north ended`, "renewed there", "nothing here"}},
		{"a peer whose certificate ends", judgePeers([]partner{{name: "north", until: time.Now().Add(3 * 24 * time.Hour)}}), doctor.Warn, []string{"of peer north ends in 2 days", "renewed there"}},
		{"a peer whose certificate lasts", judgePeers([]partner{{name: "north", until: time.Now().Add(9 * 24 * time.Hour)}}), doctor.OK, []string{"1 peer answers"}},
	} {
		if len(c.got) != 1 || c.got[0].Status != c.status || (c.got[0].Remedy == "") != (c.status == doctor.OK) {
			t.Errorf("%s: got %+v, want %v", c.name, c.got, c.status)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(c.got[0].Detail+" "+c.got[0].Remedy, part) {
				t.Errorf("%s: got %+v, want %q in it", c.name, c.got, part)
			}
		}
	}
}

func self(f doctor.Finding) []doctor.Finding { return []doctor.Finding{f} }
