// Package ss58 writes and reads the addresses of Substrate chains, SS58: base 58 of a network's number, the account, and a checksum.
//
// Source: the SS58 address format of the Polkadot wiki; requirement S20.
package ss58

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"golang.org/x/crypto/blake2b"
)

// The errors of Decode.
var (
	ErrAddress = errors.New("is not an address")
	ErrNetwork = errors.New("is an address of another network")
)

// Generic is the number of no network in particular.
const Generic = 42

const (
	alphabet   = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	maxNetwork = 1<<14 - 1
	longest    = 64 // characters of an address
	checkBytes = 2
)

// Encode writes an account of 32 bytes for a network, which is less than 16,384.
func Encode(account []byte, network uint16) string {
	return encodeBase58(slices.Concat(prefix(network), account, checksum(network, account)))
}

func prefix(network uint16) []byte {
	network &= maxNetwork
	if network < 64 {
		return []byte{byte(network)}
	}
	return []byte{byte(network&0xfc>>2) | 0x40, byte(network>>8) | byte(network&3)<<6}
}

func checksum(network uint16, account []byte) []byte {
	sum := blake2b.Sum512(slices.Concat([]byte("SS58PRE"), prefix(network), account))
	return sum[:checkBytes]
}

// Decode reads an address of an account of 32 bytes, and the number of its network. The error wraps ErrAddress, and goes on after
// the name of what was typed.
func Decode(text string) (account []byte, network uint16, err error) {
	if len(text) > longest {
		return nil, 0, fmt.Errorf("%w: it has more than %d characters", ErrAddress, longest)
	}
	b, err := decodeBase58(text)
	if err != nil {
		return nil, 0, err
	}
	head := 1
	if len(b) > 0 {
		network = uint16(b[0])
	}
	if network >= 64 && len(b) > 1 {
		head = 2
		network = uint16(b[0]&0x3f)<<2 | uint16(b[1])>>6 | uint16(b[1]&0x3f)<<8
	}
	if len(b) != head+32+checkBytes || b[0] > 127 || !bytes.Equal(b[:head], prefix(network)) {
		return nil, 0, fmt.Errorf("%w: it has %d bytes, and not those of a network, an account of 32, and a checksum of 2", ErrAddress, len(b))
	}
	account = b[head : head+32]
	if !bytes.Equal(b[head+32:], checksum(network, account)) {
		return nil, 0, fmt.Errorf("%w: its checksum is wrong, so a character is: compare it with where you have it from", ErrAddress)
	}
	return account, network, nil
}

// DecodeFor is Decode for one network, or for addresses of none in particular. The error wraps ErrAddress or ErrNetwork.
func DecodeFor(text string, network uint16) ([]byte, error) {
	account, of, err := Decode(text)
	if err == nil && of != network && of != Generic {
		return nil, fmt.Errorf("%w: it is of network %d, and this is %d; here the same account is %s", ErrNetwork, of, network, Encode(account, network))
	}
	return account, err
}

func encodeBase58(b []byte) string {
	var digits []byte
	base, rest, v := big.NewInt(58), new(big.Int), new(big.Int).SetBytes(b)
	for v.Sign() > 0 {
		v.DivMod(v, base, rest)
		digits = append(digits, alphabet[rest.Int64()])
	}
	for i := 0; i < len(b) && b[i] == 0; i++ {
		digits = append(digits, alphabet[0])
	}
	slices.Reverse(digits)
	return string(digits)
}

func decodeBase58(text string) ([]byte, error) {
	v, base := new(big.Int), big.NewInt(58)
	for _, c := range text {
		at := strings.IndexRune(alphabet, c)
		if at < 0 {
			return nil, fmt.Errorf("%w: %q (%[2]U) is no character of base 58", ErrAddress, c)
		}
		v.Mul(v, base).Add(v, big.NewInt(int64(at)))
	}
	zeros := len(text) - len(strings.TrimLeft(text, alphabet[:1]))
	return append(make([]byte, zeros), v.Bytes()...), nil
}
