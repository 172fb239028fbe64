//go:build unix

package main_test

import (
	"encoding/asn1"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/chain/keyservice"
	"github.com/conchhq/conch/chain/keyservice/keyservicetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// serviceKey is the key that conch-devnode funds, or another one, as a service keeps it: it knows of no low s and no recovery ID.
func serviceKey(t testing.TB, digits string) keyservicetest.Key {
	t.Helper()
	key, err := crypto.HexToECDSA(digits)
	if err != nil {
		t.Fatal(err)
	}
	type algorithm struct{ ID, Curve asn1.ObjectIdentifier }
	point := crypto.FromECDSAPub(&key.PublicKey)
	public, err := asn1.Marshal(struct {
		Algorithm algorithm
		Key       asn1.BitString
	}{algorithm{asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}, asn1.ObjectIdentifier{1, 3, 132, 0, 10}}, asn1.BitString{Bytes: point, BitLength: 8 * len(point)}})
	if err != nil {
		t.Fatal(err)
	}
	return keyservicetest.Key{Public: public, Sign: func(hash []byte) []byte {
		signature, _ := crypto.Sign(hash, key)
		s := new(big.Int).SetBytes(signature[32:64])
		if hash[0]%2 == 0 { // half of a service's signatures have the high s
			s.Sub(crypto.S256().Params().N, s)
		}
		der, _ := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(signature[:32]), s})
		return der
	}}
}

// keeperOf starts a stand-in, and returns the environment that leads to it.
func keeperOf(t testing.TB, p keyservicetest.Provider) (*keyservicetest.StandIn, []string) {
	t.Helper()
	s := keyservicetest.Start(t, p, serviceKey(t, worthlessKey))
	return s, s.Environment(t)
}

// accountOf is the funded account whose key a stand-in keeps.
func accountOf(n *daemon, url string, s *keyservicetest.StandIn) string {
	text := accountAt(n, url, 1337, "")
	return strings.Replace(text, "keystore = \"key.json\"\npassword_file = \"password\"\n", fmt.Sprintf("signer = \"%s:%s\"\naddress = %q\n", s.Provider, s.Name, fundedAddress), 1)
}

var keepers = []keyservicetest.Provider{keyservicetest.AWS, keyservicetest.Google, keyservicetest.Vault}

func tellsNoKeeper(t *testing.T, text string) {
	t.Helper()
	tellsNoSecret(t, text)
	if strings.Contains(text, "hunter2") {
		t.Errorf("the output contains a credential: %s", text)
	}
}

// The doctor asks a service for its public key, and says whose fault it is that it does not sign. A node does not start with the key
// of another account.
func TestDoctorLooksAtKeyServices(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	for _, p := range keepers {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s, env := keeperOf(t, p)
			d := prepareDaemon(t, "n1", db.URL, "")
			d.write(fileOf(db.URL, accountOf(d, "http://127.0.0.1:1", s)))
			look := func(status, says string) {
				t.Helper()
				cmd := prepared(t, "doctor", "--config", d.file, "--json")
				cmd.Env = append(cmd.Env, env...)
				r := call(t, cmd)
				tellsNoKeeper(t, r.out+r.err)
				if f := judged(decode[[]finding](t, r.out), "keys"); f.Status != status || !strings.Contains(f.Detail, says) {
					t.Errorf("the finding is %+v, want %s with %q; the stand-in complains %q", f, status, says, s.Complaints())
				}
			}
			look("ok", "")
			for kind, says := range map[keyservice.Kind]string{
				keyservice.Denied: "does not let this process use the key", keyservice.Disabled: "disabled", keyservice.Missing: "has no such key",
				keyservice.Throttled: "is asked too often", keyservice.Away: "does not answer",
			} {
				s.Break(kind)
				look("fail", says)
			}
			s.Mend()
			s.Use(serviceKey(t, strings.Replace(worthlessKey, "0", "1", 1)))
			look("fail", "has the key of another account")
			cmd := prepared(t, "node", "--config", d.file)
			cmd.Env = append(cmd.Env, env...)
			if r := call(t, cmd); r.code == 0 || !strings.Contains(r.err, "has the key of another account") {
				t.Errorf("a node with another account's key: exit code %d, stderr %q", r.code, r.err)
			}
		})
	}
}

// A service signs an account's transactions. While it throttles, and while it denies, they wait with their places, an alarm names it,
// and none is rejected; then all are done, each once, under nonces without a gap.
func TestKeysOfServices(t *testing.T) {
	t.Parallel()
	for i, p := range keepers {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			if i > 0 {
				runtest.LongRun(t)
			}
			db, chain := migrated(t), startDevnode(t)
			s, env := keeperOf(t, p)
			n := prepareDaemon(t, "n1", db.URL, "")
			n.env = env
			n.write(fileOf(db.URL, "listen = \"127.0.0.1:0\"\n"+accountOf(n, chain.url, s)))
			n.start()
			api := n.api()
			asked := map[string]string{}
			send := func(count int) {
				for range count {
					value := fmt.Sprint(1000 + len(asked))
					_, body := post(t, api+"/v1/transactions", intentJSON(nobodysAddress, value, "key-"+value))
					asked[fmt.Sprint(body["id"])] = deed(nobodysAddress, value, "0x")
				}
			}
			s.ThrottleAfter(2)
			send(6)
			n.says("ALARM", "cause", "keys")
			if text := n.text(); !strings.Contains(text, s.Name) || !strings.Contains(text, "is asked too often") {
				t.Errorf("the alarm does not name the service and why: %s", text)
			}
			s.Mend()
			n.says("alarm ended", "cause", "keys")
			s.Break(keyservice.Denied)
			send(3)
			pgtest.Eventually(t, patience, "a second alarm", func() bool { return n.count("ALARM", "cause", "keys") == 2 })
			s.Mend()
			judge(t, chain, db.URL, asked)
			if count := chain.count(); count != "0x9" {
				t.Errorf("the chain has %s transactions of the account, want 0x9", count)
			}
			if bad := s.Complaints(); len(bad) > 0 {
				t.Errorf("the stand-in complains: %q", bad)
			}
			tellsNoKeeper(t, n.text())
		})
	}
}
