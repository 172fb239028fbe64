package evm

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/ethereum/go-ethereum/common"

	"github.com/conchhq/conch/chain"
)

// ErrChecksum is in the error of ParseAddress for an address whose letters' case is that of another one (EIP-55).
var ErrChecksum = errors.New("has a wrong checksum")

const digitsOfAddress = 2 * common.AddressLength

// ParseAddress reads an address as a person types it: 0x and 40 hexadecimal digits, whose letters are all small, all capital, or
// have the case of the checksum (EIP-55). Its error goes on after the name of what was typed, and says what is wrong with it.
func ParseAddress(text string) (chain.Account, error) {
	digits := text[min(len(text), len("0x")):]
	prefixed := strings.EqualFold(text[:len(text)-len(digits)], "0x")
	other := strings.IndexFunc(digits, func(c rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", c) })
	no := func(format string, args ...any) (chain.Account, error) {
		return "", fmt.Errorf("is not an address: "+format, args...)
	}
	hidden := func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsPrint(c) }
	switch at := strings.IndexFunc(text, hidden); {
	case text == "":
		return no("it is empty: write 0x and %d hexadecimal digits", digitsOfAddress)
	case at >= 0:
		return no("it has a space or a character that cannot be seen (%U): type it without", []rune(text[at:])[0])
	case strings.Contains(text, "."):
		return no("it is a name, and conch looks up none: write the 0x and %d hexadecimal digits that it stands for", digitsOfAddress)
	case !prefixed:
		return no("it does not begin with 0x: write 0x and %d hexadecimal digits", digitsOfAddress)
	case other >= 0:
		return no("%q (%[1]U) is no hexadecimal digit: write 0x and %d of them", []rune(digits[other:])[0], digitsOfAddress)
	case len(digits) != digitsOfAddress:
		return no("it has %d digits after 0x: write 0x and %d hexadecimal digits", len(digits), digitsOfAddress)
	}
	address := common.HexToAddress(digits)
	right := address.Hex()
	if digits != right[2:] && digits != strings.ToLower(digits) && digits != strings.ToUpper(digits) {
		return "", fmt.Errorf("%w (EIP-55), so a character or the case of a letter is wrong: compare it with where you have it from; with these digits it is %s", ErrChecksum, right)
	}
	return chain.Account(address[:]), nil
}
