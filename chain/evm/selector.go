package evm

import (
	"errors"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pattern"
)

// Selector has the four bytes with which the data of a call to a function begins.
type Selector [4]byte

var (
	signature = pattern.Of(`^[A-Za-z_$][A-Za-z0-9_$]*\([a-z0-9,()\[\]]*\)$`)
	alias     = pattern.Of(`(^|[,(])(uint|int|fixed|ufixed|byte)([,)\[])`)
)

// ParseSelector reads a function as a person types it: its signature as it is hashed, such as transfer(address,uint256), or the four
// bytes, such as 0xa9059cbb. Its error goes on after the name of what was typed.
func ParseSelector(text string) (s Selector, err error) {
	if raw, err := chain.ParseHex(text); err == nil && len(raw) == len(s) {
		return Selector(raw), nil
	}
	switch {
	case !signature().MatchString(text):
		return s, errors.New("is no function: write its signature without spaces and names, such as transfer(address,uint256), or its four bytes, such as 0xa9059cbb")
	case alias().MatchString(text[len("f"):]):
		return s, errors.New("has a type without its size: write uint256 for uint, int256 for int, and bytes1 for byte")
	}
	return Selector(crypto.Keccak256([]byte(text))), nil
}
