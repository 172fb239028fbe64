package txlog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
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

// Sum is the hash of a set of items, kept while items come and go: the sum of their SHA-256, modulo 2^256. Equal sets have
// equal sums. It finds what chance has spoiled, and is no defence against somebody who may choose the items: a
// member of a log is trusted not to. The zero value is the sum of the empty set.
type Sum [4]uint64

// Add adds an item.
func (s *Sum) Add(item []byte) { s.AddHash(sha256.Sum256(item)) }

// Remove takes out an item that was added.
func (s *Sum) Remove(item []byte) { s.RemoveHash(sha256.Sum256(item)) }

// AddHash adds an item by its hash.
func (s *Sum) AddHash(h Hash) {
	carry := uint64(0)
	for i := range s {
		s[i], carry = bits.Add64(s[i], binary.LittleEndian.Uint64(h[8*i:]), carry)
	}
}

// RemoveHash takes out an item by its hash.
func (s *Sum) RemoveHash(h Hash) {
	borrow := uint64(0)
	for i := range s {
		s[i], borrow = bits.Sub64(s[i], binary.LittleEndian.Uint64(h[8*i:]), borrow)
	}
}

// Hash returns the sum as a hash.
func (s *Sum) Hash() (h Hash) {
	for i, word := range s {
		binary.LittleEndian.PutUint64(h[8*i:], word)
	}
	return h
}
