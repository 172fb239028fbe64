package vault_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/chain/keyservice"
	"github.com/conchhq/conch/chain/keyservice/keyservicetest"
	"github.com/conchhq/conch/chain/keyservice/vault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestExercise(t *testing.T) {
	t.Parallel()
	keyservicetest.Exercise(t, keyservicetest.Vault, open)
}

func open(t *testing.T, s *keyservicetest.StandIn) keyservicetest.Service {
	t.Helper()
	getenv := func(name string) string {
		return map[string]string{"VAULT_ADDR": s.URL, "VAULT_NAMESPACE": keyservicetest.Namespace, "VAULT_TOKEN": keyservicetest.Token}[name]
	}
	c, err := vault.Open(vault.FromEnvironment(s.Name, getenv))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// The token is read with each request, since an agent changes it; and without one none is sent.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	s := keyservicetest.Start(t, keyservicetest.Vault, keyservicetest.Key{Public: []byte("p")})
	home := t.TempDir()
	c, err := vault.Open(vault.FromEnvironment(s.Name, func(name string) string {
		return map[string]string{"VAULT_ADDR": s.URL, "VAULT_NAMESPACE": keyservicetest.Namespace, "HOME": home}[name]
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	look := func(want keyservice.Kind) {
		t.Helper()
		if _, err := c.PublicKey(t.Context()); err == nil || !isKind(err, want) {
			t.Errorf("got error %v, want a fault of kind %d", err, want)
		}
	}
	look(keyservice.Denied)
	file := filepath.Join(home, ".vault-token")
	if err := os.WriteFile(file, []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	look(keyservice.Denied)
	if err := os.WriteFile(file, []byte(keyservicetest.Token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.PublicKey(t.Context()); err != nil {
		t.Errorf("with the token in its file: %v", err)
	}
}

func isKind(err error, want keyservice.Kind) bool {
	kind, is := keyservice.KindOf(err)
	return is && kind == want
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	for key, good := range map[string]bool{
		"transit/payouts": true, "shop/transit/pay-1.2": true,
		"": false, "payouts": false, "transit/": false, "/payouts": false, "transit/../sys/seal": false, "transit/a?b": false, "transit/.": false,
	} {
		if err := vault.ParseKey(key); (err == nil) != good {
			t.Errorf("%q: got %v, want good: %v", key, err, good)
		}
	}
}
