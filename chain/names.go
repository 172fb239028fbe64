package chain

import (
	"encoding/hex"
	"errors"
	"strings"
)

// Account is the raw bytes of an account's address. It can be used as a map key.
type Account string

// Hash is the raw bytes of a block's or a transaction's hash.
type Hash string

func (a Account) String() string { return "0x" + hex.EncodeToString([]byte(a)) }
func (h Hash) String() string    { return "0x" + hex.EncodeToString([]byte(h)) }

// MarshalText returns 0x and hexadecimal digits.
func (a Account) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// MarshalText returns 0x and hexadecimal digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// ParseHex reads bytes in hexadecimal digits, with or without 0x before them.
func ParseHex(text string) ([]byte, error) {
	raw, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		return nil, errors.New("not an even number of hexadecimal digits after 0x")
	}
	return raw, nil
}
