package standin_test

import (
	"crypto/sha256"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/standin"
	"github.com/conchhq/conch/sequencer/ledger"
)

var schemes = map[string]standin.Scheme{"ed25519": standin.Ed25519(), "secp256k1": standin.Secp256k1()}

// A stand-in's signatures are as good as those of its keys: what the node verifies costs it what it always costs.
func TestStampsAreSignatures(t *testing.T) {
	t.Parallel()
	for name, s := range schemes {
		signs, stamps, other := s.Key("a"), s.Stamp("a"), s.Stamp("b")
		if signs.Account != stamps.Account || signs.Account == other.Account {
			t.Errorf("%s: the accounts are %v, %v and %v", name, signs.Account, stamps.Account, other.Account)
		}
		for i := range 200 {
			h := ledger.Hash(sha256.Sum256([]byte{byte(i)}))
			for what, k := range map[string]standin.Key{"signature": signs, "stamp": stamps} {
				signature, err := k.Sign(h)
				if err != nil || !s.Verify(k.Account, h, signature) {
					t.Fatalf("%s: the %s of %v is not verified: %v", name, what, h, err)
				}
				if signature[5] ^= 1; s.Verify(k.Account, h, signature) {
					t.Fatalf("%s: a spoilt %s of %v is verified", name, what, h)
				}
				if wrong, _ := other.Sign(h); s.Verify(k.Account, h, wrong) {
					t.Fatalf("%s: another's signature is verified", name)
				}
			}
		}
	}
}

func BenchmarkSignatures(b *testing.B) {
	for name, s := range schemes {
		k, stamp := s.Key("a"), s.Stamp("a")
		signature, _ := k.Sign(ledger.Hash{1})
		b.Run(name+"/sign", func(b *testing.B) {
			for b.Loop() {
				_, _ = k.Sign(ledger.Hash{1})
			}
		})
		b.Run(name+"/stamp", func(b *testing.B) {
			for b.Loop() {
				_, _ = stamp.Sign(ledger.Hash{1})
			}
		})
		b.Run(name+"/verify", func(b *testing.B) {
			for b.Loop() {
				s.Verify(k.Account, ledger.Hash{1}, signature)
			}
		})
	}
}
