package substratetest

import (
	"encoding/hex"
	"math/big"
	"strings"

	"golang.org/x/crypto/blake2b"
)

func hexed(b []byte) string { return "0x" + hex.EncodeToString(b) }

func unhexed(text string) ([]byte, bool) {
	digits, has := strings.CutPrefix(text, "0x")
	b, err := hex.DecodeString(digits)
	return b, has && err == nil
}

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// readAccount reads an account as people write it: hex digits, or SS58 of any network.
func (n *Node) readAccount(text string) (string, bool) {
	size := n.cfg.accountSize()
	if b, ok := unhexed(text); ok {
		return string(b), len(b) == size
	}
	if len(text) > 64 { // of a 32-byte account and a prefix there are 50
		return "", false
	}
	number := new(big.Int)
	for _, digit := range []byte(text) {
		at := strings.IndexByte(base58, digit)
		if at < 0 {
			return "", false
		}
		number.Add(number.Mul(number, big.NewInt(58)), big.NewInt(int64(at)))
	}
	zeros := len(text) - len(strings.TrimLeft(text, "1"))
	b := append(make([]byte, zeros), number.Bytes()...)
	prefix := 1
	if len(b) > 0 && b[0]&0b0100_0000 != 0 {
		prefix = 2
	}
	if len(b) != prefix+size+2 {
		return "", false
	}
	sum := blake2b.Sum512(append([]byte("SS58PRE"), b[:prefix+size]...))
	return string(b[prefix : prefix+size]), string(sum[:2]) == string(b[prefix+size:])
}
