package mtls

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"strings"
)

// fingerprintPrefix begins the text of a fingerprint.
const fingerprintPrefix = "sha256:"

// Fingerprint names a public key: the SHA-256 of its SubjectPublicKeyInfo. It stays the same whatever certificate the key
// is in. Its text is "sha256:" and 64 small hexadecimal digits, and there is no other form.
type Fingerprint [sha256.Size]byte

// String returns the one textual form.
func (f Fingerprint) String() string { return fingerprintPrefix + hex.EncodeToString(f[:]) }

// ParseFingerprint reads the textual form. The error says what is wrong, and how to get the right text.
func ParseFingerprint(text string) (f Fingerprint, err error) {
	digits, found := strings.CutPrefix(text, fingerprintPrefix)
	bytes, err := hex.DecodeString(digits)
	if !found || err != nil || len(bytes) != len(f) || digits != strings.ToLower(digits) {
		return f, fmt.Errorf("%.80q is no fingerprint of a key: it is %q and 64 of 0-9a-f, as the peer's \"conch identity show\" prints it", text, fingerprintPrefix)
	}
	copy(f[:], bytes)
	return f, nil
}

// fingerprintOf returns the fingerprint of a certificate's key.
func fingerprintOf(c *x509.Certificate) Fingerprint { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }
