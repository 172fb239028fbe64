package hint

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// A subject is the SHA-256 of the key's SubjectPublicKeyInfo, as transport/mtls and everybody else computes it. Only the
// owner of that key signs for it (own-signature).
func TestPinned(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPinned(private)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	if want := wire.Subject(sha256.Sum256(der)); p.Subject() != want {
		t.Fatalf("the subject is %x, want %x", p.Subject(), want)
	}
	text := []byte("I lead")
	good := p.Sign(text)
	if len(good) > wire.MostSignature {
		t.Errorf("a signature of %d bytes is refused on the wire", len(good))
	}
	_, stranger, _ := ed25519.GenerateKey(rand.Reader)
	other, _ := NewPinned(stranger)
	foreign := other.Sign(text)
	for name, c := range map[string]struct {
		by        wire.Subject
		text      string
		signature []byte
		want      bool
	}{
		"its own":                         {p.Subject(), "I lead", good, true},
		"other words":                     {p.Subject(), "I lied", good, false},
		"another subject":                 {other.Subject(), "I lead", good, false},
		"a stranger's, as it is":          {p.Subject(), "I lead", foreign, false},
		"a stranger's under the real key": {p.Subject(), "I lead", append(append([]byte{}, public...), foreign[32:]...), false},
		"without the key":                 {p.Subject(), "I lead", good[32:], false},
		"with more":                       {p.Subject(), "I lead", append(append([]byte{}, good...), 0), false},
		"none":                            {p.Subject(), "I lead", nil, false},
	} {
		if got := p.Verify(c.by, []byte(c.text), c.signature); got != c.want {
			t.Errorf("%s: it is taken: %v", name, got)
		}
	}
}

// Keys of other kinds are refused plainly, and a signer that fails signs nothing.
func TestPinnedTakesEd25519Alone(t *testing.T) {
	t.Parallel()
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewPinned(other); err == nil || !strings.Contains(err.Error(), "has to be one of Ed25519") {
		t.Errorf("got %v", err)
	}
	public, _, _ := ed25519.GenerateKey(rand.Reader)
	p, err := NewPinned(broken{public})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Sign(nil); got != nil {
		t.Errorf("it signs %x", got)
	}
}

// broken is the signer of a device that is gone.
type broken struct{ public crypto.PublicKey }

func (b broken) Public() crypto.PublicKey { return b.public }

func (broken) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("the device is gone")
}
