package key_test

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/key"
)

// The files were written by polkadot-js (@polkadot/keyring of npm), of well-known keys, with one password.
func TestFilesOfPolkadotJS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	right, wrong := filepath.Join(dir, "right"), filepath.Join(dir, "wrong")
	for file, password := range map[string]string{right: "open sesame\n", wrong: "open barley\n"} {
		if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"sr25519":  "d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d",
		"soft":     "02cfd83074aefc9955af4034d19b3780d47a52e158ababec8ec012b2295f1c5b",
		"ed25519":  "88dc3417d5058ec4b4503e0c12ea1a0a89be200fe98922423d4334014fa6b0ee",
		"ecdsa":    "020a1091341fe5664bfa1782d5e04779689068c916b04cb365ec3153755684d9a1",
		"ethereum": "02509540919faacf9ab52146c9aa40db68172d83777250b28e4679176e49ccdd9f",
	} {
		p, err := key.OpenJSON(filepath.Join("testdata", name+".json"), right)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := hex.EncodeToString(p.Public()); got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
		signature, err := p.Sign(t.Context(), []byte("payload"))
		if err != nil || !key.Verify(p.Kind(), p.Account(), []byte("payload"), signature) {
			t.Errorf("%s: its signature is refused: %v", name, err)
		}
	}
	_, err := key.OpenJSON(filepath.Join("testdata", "sr25519.json"), wrong)
	if !errors.Is(err, chain.ErrKey) || !strings.Contains(err.Error(), "does not open") || strings.Contains(err.Error(), "barley") {
		t.Error(err)
	}
}

// A file that asks for more work than polkadot-js ever does is refused before any work.
func TestDearFilesAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, err := os.ReadFile(filepath.Join("testdata", "sr25519.json"))
	if err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("open sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"dear":       {"AAIAAQAAAAgAAAB", "AAJAAQAAAAgAAAB"}, // its N
		"version 2":  {`"version":"3"`, `"version":"2"`},
		"plain":      {"scrypt", "none"},
		"other kind": {`"sr25519"]`, `"rsa"]`},
		"short":      {`"encoded":"`, `"encoded":"","x":"`},
		"no JSON":    {`{"encoded"`, `encoded"`},
	} {
		file := filepath.Join(dir, name)
		bad := strings.Replace(string(good), change[0], change[1], 1)
		if bad == string(good) {
			t.Fatal(name, "changes nothing")
		}
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := key.OpenJSON(file, password); !errors.Is(err, chain.ErrKey) || strings.Contains(err.Error(), "does not open") || name == "dear" && !strings.Contains(err.Error(), "would cost more") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzURI(f *testing.F) {
	for _, seed := range []string{"//Alice", "//Alice/soft///pw", "0x" + strings.Repeat("1", 64), "bottom drive", "//1//2/3", "/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		if _, err := key.FromURI(key.Sr25519, uri); err != nil && !errors.Is(err, chain.ErrKey) {
			t.Fatal(err)
		}
	})
}
