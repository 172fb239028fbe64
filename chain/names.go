package chain

import (
	"encoding/hex"
	"errors"
	"strings"
)

// Account is the raw bytes of an account's address. It is comparable and may be
// used as a key.
type Account string

// Hash is the raw bytes of a block's or a transaction's hash.
type Hash string

func (a Account) String() string { return "0x" + hex.EncodeToString([]byte(a)) }
func (h Hash) String() string    { return "0x" + hex.EncodeToString([]byte(h)) }

// MarshalText writes hexadecimal digits after 0x.
func (a Account) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// MarshalText writes hexadecimal digits after 0x.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// ParseHex reads hexadecimal digits, two a byte, with or without 0x before them.
func ParseHex(text string) ([]byte, error) {
	raw, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		return nil, errors.New("not hexadecimal digits, two a byte, after 0x")
	}
	return raw, nil
}
