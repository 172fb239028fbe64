package mtls_test

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/transport/mtls"
)

// A signer signs with the identity's key, and shows it to nobody.
func TestTheSignerHidesTheKey(t *testing.T) {
	t.Parallel()
	id, err := mtls.CreateIdentity(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	s := id.Signer()
	signature, err := s.Sign(rand.Reader, []byte("words"), crypto.Hash(0))
	if err != nil || !ed25519.Verify(s.Public().(ed25519.PublicKey), []byte("words"), signature) {
		t.Errorf("the signature is not the key's (%v)", err)
	}
	if _, is := s.(ed25519.PrivateKey); is {
		t.Error("the signer is the key")
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%x", "%s"} {
		if text := fmt.Sprintf(verb, s); !strings.Contains(text, id.Fingerprint().String()) {
			t.Errorf("with %s it prints %q", verb, text)
		}
	}
	if _, err := (mtls.Identity{}).Signer().Sign(rand.Reader, nil, crypto.Hash(0)); err == nil {
		t.Error("no key signs")
	}
}
