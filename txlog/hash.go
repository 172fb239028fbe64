package txlog

import (
	"crypto/sha256"
	"encoding/hex"
)

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// ID names a log: it is the hash of its genesis.
type ID = Hash

// String returns the hash in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Short returns the first eight digits, for people.
func (h Hash) Short() string { return hex.EncodeToString(h[:4]) }

// IsZero reports whether there is no hash.
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText returns the hash in hex.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText returns. The error is ErrMalformed.
func (h *Hash) UnmarshalText(text []byte) error {
	if n, err := hex.Decode(h[:], text[:min(len(text), 2*len(h))]); err != nil || n != len(h) || len(text) != 2*len(h) {
		return fault(ErrMalformed, "a hash has %d hexadecimal digits", 2*len(h))
	}
	return nil
}

// hashOf returns the hash of what some kind of thing is encoded as. Two kinds never have the same hash.
func hashOf(kind string, body []byte) Hash {
	var room [2 << 10]byte // for most bodies there is nothing to allocate
	b := append(append(append(room[:0], "conch log "...), kind...), 0)
	return sha256.Sum256(append(b, body...))
}
