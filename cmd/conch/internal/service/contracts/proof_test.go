package contracts

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
)

// A CA speaks for the names in its certificates, and for no other peer.
func TestACAProvesNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority := func(file string) (string, *x509.Certificate, ed25519.PrivateKey) {
		public, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: file}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
		raw, err := x509.CreateCertificate(nil, ca, ca, public, key)
		if err != nil {
			t.Fatal(err)
		}
		file = filepath.Join(dir, file)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file, ca, key
	}
	file, ca, key := authority("ca.pem")
	other, _, _ := authority("other.pem")
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{"north"}, NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(nil, leaf, ca, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		peer Peer
		good bool
	}{{Peer{Name: "north", CA: file}, true}, {Peer{Name: "east", CA: file}, false}, {Peer{Name: "north", CA: other}, false}} {
		if err := proves(c.peer, []*x509.Certificate{shown}); (err == nil) != c.good {
			t.Errorf("%+v: %v", c.peer, err)
		}
	}
	if proves(Peer{Name: "north", CA: file}, nil) == nil {
		t.Error("nothing was shown, and it was taken for a proof")
	}
}

// offered is the work of a role that keeps an account.
type offered struct {
	node.Account
	signs bool
}

// Offered implements node.Offers.
func (o offered) Offered() (node.Account, bool) { return o.Account, o.signs }

// The account of a contract has to be the member's, and to sign hashes.
func TestAccountsOfContracts(t *testing.T) {
	t.Parallel()
	own, foreign := chain.Account(strings.Repeat("\x00", 19)+"\xb1"), chain.Account(strings.Repeat("\x00", 19)+"\xb2")
	for _, c := range []struct {
		name, of string
		does     offered
		says     string
	}{
		{"the member's", "ops", offered{node.Account{Address: own}, true}, ""},
		{"another member's", "ops", offered{node.Account{Address: foreign}, true}, "correct one of them"},
		{"in an external signer", "ops", offered{node.Account{Address: own}, false}, "external signer"},
		{"of another name", "payer", offered{node.Account{Address: own}, true}, `no [[accounts]] has that name: "ops"`},
	} {
		accounts := func() config.Section {
			return configtest.Plain("accounts", config.Role{Name: c.of, Scope: "pending:" + c.of, Fenced: true, Does: c.does})
		}
		cfg, err := configtest.Load(t, whole, config.Source{Sections: configtest.Beside(accounts, Kind().Section)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = accountFault(cfg, "bank", config.Of[*Section](cfg).contracts[0])
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}
