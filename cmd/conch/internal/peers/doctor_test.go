package peers

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	for _, c := range []struct {
		name     string
		identity error
		unproven error
		partners []partner
		check    string
		status   doctor.Status
		says     []string // of detail and remedy
	}{
		{"an identity", nil, nil, nil, checkSelf, doctor.OK, []string{"prove", own.Fingerprint().String()}},
		{"no identity", errors.New("there is no key"), errors.New("no name"), nil, checkSelf, doctor.Fail, []string{"there is no key", "identity.key"}},
		{"a certificate of another name", nil, errors.New("for n2"), nil, checkSelf, doctor.Warn, []string{"for n2", "identity.name"}},
		{"peers", nil, nil, []partner{{name: "north"}, {name: "east"}}, checkPeers, doctor.OK, []string{"2 peers answer"}},
		{"a peer that is away", nil, nil, []partner{{name: "north", away: "refused"}}, checkPeers, doctor.Warn, []string{`"north" does not answer: refused`, "url"}},
		{"a peer with another key", nil, nil, []partner{{name: "north", away: "x", foreign: "the key is sha256:1"}}, checkPeers, doctor.Fail, []string{`"north": the key is sha256:1`, "conch identity show"}},
	} {
		found := judge(own, c.identity, c.unproven, c.partners)
		at := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Check == c.check })
		if len(found) != 2 || at < 0 || found[at].Status != c.status || (found[at].Remedy == "") != (c.status == doctor.OK) {
			t.Errorf("%s: got %+v, want %v for %q", c.name, found, c.status, c.check)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(found[at].Detail+" "+found[at].Remedy, part) {
				t.Errorf("%s: got %+v, want %q in it", c.name, found[at], part)
			}
		}
	}
}
