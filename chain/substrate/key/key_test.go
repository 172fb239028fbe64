package key_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/key"
)

// The well-known keys for development, as subkey and wallets show them.
func TestKnownKeys(t *testing.T) {
	t.Parallel()
	const dev = "bottom drive obey lake curtain smoke basket hold race lonely fit walk"
	for _, is := range []struct {
		kind key.Kind
		uri  string
		want string
	}{
		{key.Sr25519, "//Alice", "d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d"},
		{key.Sr25519, "//Bob", "8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a48"},
		{key.Sr25519, "//Charlie", "90b5ab205c6974c9ea841be688864633dc9ca8a357843eeacf2314649965fe22"},
		{key.Sr25519, "//Dave", "306721211d5404bd9da88e0204360a1a9ab8b87c66c1bc2fcdd37f3c2222cc20"},
		{key.Sr25519, "//Eve", "e659a7a1628cdd93febc04a4e0646ea20e9f5f0ce097d9a05290d4a9e054df4e"},
		{key.Sr25519, "//Ferdie", "1cbd2d43530a44705ad088af313e18f80b53ef16b36177cd4b77b846f2a5f07c"},
		{key.Sr25519, "//Alice//stash", "be5ddb1579b72e84524fc29e78609e3caf42e85aa118ebfe0b0ad404b5bdd25f"},
		{key.Sr25519, dev, "46ebddef8cd9bb167dc30878d7113b7e168e6f0646beffd77d69d39bad76b47a"},
		{key.Sr25519, "0xfac7959dbfe72f052e5a0c3c8d6530f202b02fd8f9f5ca3580ec8deb7797479e", "46ebddef8cd9bb167dc30878d7113b7e168e6f0646beffd77d69d39bad76b47a"},
		{key.Sr25519, dev + "/Alice", "d6c71059dbbe9ad2b0ed3f289738b800836eb425544ce694825285b958ca755e"},
		{key.Ed25519, "//Alice", "88dc3417d5058ec4b4503e0c12ea1a0a89be200fe98922423d4334014fa6b0ee"},
		{key.Ed25519, "//Bob", "d17c2d7823ebf260fd138f2d7e27d114c0145d968b5ff5006125f2414fadae69"},
		{key.ECDSA, "//Alice", "020a1091341fe5664bfa1782d5e04779689068c916b04cb365ec3153755684d9a1"},
		{key.Ethereum, "0x5fb92d6e98884f76de468fa3f6278f8807c48bebc13595d45af5bdc4da702133", "account f24ff3a9cf04c71dbc94d0b566f7a27b94566cac"},
	} {
		p, err := key.FromURI(is.kind, is.uri)
		if err != nil {
			t.Errorf("%v %s: %v", is.kind, is.uri, err)
			continue
		}
		got := hex.EncodeToString(p.Public())
		if strings.HasPrefix(is.want, "account ") {
			got = "account " + hex.EncodeToString([]byte(p.Account()))
		}
		if got != is.want {
			t.Errorf("%v %s: %s, not %s", is.kind, is.uri, got, is.want)
		}
	}
}

// The ed25519 key and signature of RFC 8032, its second test.
func TestKnownSignature(t *testing.T) {
	t.Parallel()
	p, err := key.FromURI(key.Ed25519, "0x4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
	if err != nil {
		t.Fatal(err)
	}
	signature, err := p.Sign(t.Context(), []byte{0x72})
	const want = "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
	if got := hex.EncodeToString(signature); err != nil || got != want {
		t.Error(got, err)
	}
}

func each(t testing.TB, f func(t testing.TB, p *key.Pair)) {
	t.Helper()
	for _, kind := range []key.Kind{key.Ed25519, key.Sr25519, key.ECDSA, key.Ethereum} {
		p, err := key.FromURI(kind, "//Alice")
		if err != nil {
			t.Fatal(err)
		}
		f(t, p)
	}
}

// A signature is of one account, one payload, and one form.
func TestSignaturesVerify(t *testing.T) {
	t.Parallel()
	each(t, func(t testing.TB, p *key.Pair) {
		payload := []byte("a payload")
		signature, err := p.Sign(t.Context(), payload)
		if err != nil || !key.Verify(p.Kind(), p.Account(), payload, signature) {
			t.Fatalf("%v: its own signature is refused: %v", p, err)
		}
		if key.Verify(p.Kind(), p.Account(), append(payload, 0), signature) || key.Verify(p.Kind(), p.Account(), payload, append(signature, 0)) ||
			key.Verify(p.Kind(), chain.Account(make([]byte, len(p.Account()))), payload, signature) || key.Verify(9, p.Account(), payload, signature) {
			t.Errorf("%v: another payload, form, account or kind is taken", p)
		}
		for bit := range 8 * len(signature) {
			bad := append([]byte{}, signature...)
			bad[bit/8] ^= 1 << (bit % 8)
			if (bit%7 == 0 || bit >= 512) && key.Verify(p.Kind(), p.Account(), payload, bad) {
				t.Fatalf("%v: bit %d may be flipped", p, bit)
			}
		}
	})
}

func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	const secret = "5fb92d6e98884f76de468fa3f6278f8807c48bebc13595d45af5bdc4da702133"
	for _, kind := range []key.Kind{key.Ed25519, key.Sr25519, key.ECDSA, key.Ethereum} {
		p, err := key.FromURI(kind, "0x"+secret)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, shown := range []string{fmt.Sprint(p), fmt.Sprintf("%+v %#v %x %d %q", p, p, p, p, p), string(text)} {
			if strings.Contains(shown, secret) || strings.Contains(shown, "func") || !strings.Contains(shown, kind.String()) {
				t.Error(shown)
			}
		}
	}
}

// A wrong URI is an error that has none of its words.
func TestWrongURIsAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []struct {
		kind key.Kind
		uri  string
	}{
		{key.Sr25519, "0x1234"}, {key.Sr25519, "0xzz95"}, {key.Sr25519, "xyzzy plugh"}, {key.Ed25519, "//Alice/soft"}, {key.ECDSA, "//Alice/soft"},
		{key.Sr25519, "bottom drive obey lake curtain smoke basket hold race lonely fit fit"},
		{key.Sr25519, "bottom drive obey lake curtain smoke basket hold race lonely fit secret7"}, {key.Sr25519, "sécret"},
		{key.Ethereum, "0x" + strings.Repeat("00", 32)}, {key.ECDSA, "0x" + strings.Repeat("ff", 32)},
		{key.Ethereum, "bottom drive obey lake curtain smoke basket hold race lonely fit walk/m/44'/60'/0'/0/0"},
	} {
		_, err := key.FromURI(bad.kind, bad.uri)
		if !errors.Is(err, chain.ErrKey) {
			t.Errorf("%v %q: %v", bad.kind, bad.uri, err)
			continue
		}
		for word := range strings.FieldsSeq(bad.uri) {
			if len(word) > 4 && strings.Contains(err.Error(), word) {
				t.Errorf("%v has %q", err, word)
			}
		}
	}
}

func TestNodeKeystore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	alice, _ := key.FromURI(key.Sr25519, "//Alice")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The file that a node writes: the key type "bcsv", and the public key.
	write("62637376"+hex.EncodeToString(alice.Public()), `"//Alice"`)
	write("61757261"+strings.Repeat("00", 32), `"//Bob"`)
	all, err := key.OpenNodeKeystore(dir, "bcsv", key.Sr25519)
	if err != nil || len(all) != 1 || all[0].Account() != alice.Account() {
		t.Fatal(all, err)
	}
	for keyType, want := range map[string]string{"aura": "another public key", "gran": "has no key of the type", "x": "4 characters"} {
		if _, err := key.OpenNodeKeystore(dir, keyType, key.Sr25519); !errors.Is(err, chain.ErrKey) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", keyType, err)
		}
	}
	if _, err := key.OpenNodeKeystore(dir, "bcsv", key.Ed25519); !errors.Is(err, chain.ErrKey) {
		t.Error("a key of another kind:", err)
	}
	write("62637376"+strings.Repeat("00", 32), `secret words`)
	if _, err := key.OpenNodeKeystore(dir, "bcsv", key.Sr25519); !errors.Is(err, chain.ErrKey) || strings.Contains(err.Error(), "secret words") {
		t.Error(err)
	}
	if _, err := key.OpenNodeKeystore(filepath.Join(dir, "gone"), "bcsv", key.Sr25519); !errors.Is(err, chain.ErrKey) {
		t.Error(err)
	}
}

func BenchmarkSign(b *testing.B) {
	each(b, func(t testing.TB, p *key.Pair) {
		t.(*testing.B).Run(p.Kind().String(), func(b *testing.B) {
			payload := make([]byte, 120)
			for b.Loop() {
				if _, err := p.Sign(b.Context(), payload); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}
