package txlog

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"

	"github.com/conchhq/conch/txlog/internal/limits"
)

// Head is a member's word that a log is committed up to an index. Nothing else covers an entry: what a leader signs or
// sends may never commit (V6). A member says it of what a majority has stored.
type Head struct {
	Position
	State     Hash // of the copy there
	Member    string
	Signature []byte // the member's public key, and its signature
}

const signatureSize = ed25519.PublicKeySize + ed25519.SignatureSize

// Signed returns the bytes that a member signs.
func (h Head) Signed() []byte {
	e := encoder{b: []byte("conch log head\x00")}
	e.position(h.Position)
	e.hash(h.State)
	e.text(h.Member)
	return e.b
}

// Sign returns the head with the signature of a key of ed25519; without one if the key does not sign.
func (h Head) Sign(key crypto.Signer) Head {
	public, _ := key.Public().(ed25519.PublicKey)
	signature, err := key.Sign(nil, h.Signed(), crypto.Hash(0))
	if err != nil {
		return h
	}
	h.Signature = append(append([]byte(nil), public...), signature...)
	return h
}

// Verify checks that the head is signed by the member that it names, one of these. The error is ErrStranger or ErrSignature.
func (h Head) Verify(members []Member) error {
	public, err := h.signer(members)
	if err == nil && !ed25519.Verify(public, h.Signed(), h.Signature[ed25519.PublicKeySize:]) {
		err = fault(ErrSignature, "of %s", h.Member)
	}
	return err
}

// VerifyOwn is Verify of a head that this program has just signed: whether its key is the one of the member that it names. The signature
// itself is not looked at, which takes as long as everything else that is done with a head.
func (h Head) VerifyOwn(members []Member) error {
	_, err := h.signer(members)
	return err
}

// signer returns the key with which the head says that it is signed, if it is the one of the member that it names.
func (h Head) signer(members []Member) (ed25519.PublicKey, error) {
	m, is := FindMember(members, h.Member)
	switch {
	case !is:
		return nil, fault(ErrStranger, "%q", h.Member)
	case len(h.Signature) != signatureSize:
		return nil, fault(ErrSignature, "a signature has %d bytes", signatureSize)
	}
	public := ed25519.PublicKey(h.Signature[:ed25519.PublicKeySize])
	if Fingerprint(public) != m.Key {
		return nil, fault(ErrSignature, "of %s", h.Member)
	}
	return public, nil
}

// Fingerprint returns the SHA-256 of a public key, as a certificate has it: by it members are known.
func Fingerprint(key ed25519.PublicKey) Hash {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return Hash{}
	}
	return Hash(sha256.Sum256(der))
}

// Encode returns the bytes of the head.
func (h Head) Encode() []byte {
	e := encoder{b: []byte{version}}
	e.position(h.Position)
	e.hash(h.State)
	e.text(h.Member)
	e.bytes(h.Signature)
	return e.b
}

// DecodeHead reads what Encode returns. The error is ErrMalformed, ErrSize or ErrVersion.
func DecodeHead(b []byte) (Head, error) {
	d := decoder{b: b}
	d.version()
	h := Head{Position: d.position(), State: d.hash(), Member: d.text(limits.MostName, "a member's name"), Signature: d.bytes(signatureSize, "a signature")}
	if err := d.end(); err != nil {
		return Head{}, err
	}
	return h, nil
}

// Forked reports whether two heads cannot both be true: they differ at one index.
func (h Head) Forked(other Head) bool {
	return h.Log == other.Log && h.Index == other.Index && (h.Hash != other.Hash || h.State != other.State)
}
