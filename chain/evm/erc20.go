package evm

import (
	"bytes"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"

	"github.com/conchhq/conch/chain"
)

// ERC20 is what a call of an ERC-20 contract moves, or allows another to move. ERC-721 has the same approve and transferFrom; the amount
// is then a number of a thing.
type ERC20 struct {
	Function string        // transfer, approve or transferFrom
	To       chain.Account // who gets it, or may take it
	Amount   *big.Int
}

var erc20 = map[Selector]struct {
	name  string
	words int // of its arguments; the last two are the receiver and the amount
}{
	{0xa9, 0x05, 0x9c, 0xbb}: {"transfer", 2},
	{0x09, 0x5e, 0xa7, 0xb3}: {"approve", 2},
	{0x23, 0xb8, 0x72, 0xdd}: {"transferFrom", 3},
}

// IsERC20 reports whether a selector is that of one of the functions which DecodeERC20 knows.
func IsERC20(s Selector) bool { return erc20[s].words > 0 }

// DecodeERC20 reads the data of a call to transfer, approve or transferFrom, and reports whether it is one. The error says what is odd
// about the data: a contract may take it otherwise than it looks.
func DecodeERC20(data []byte) (c ERC20, is bool, err error) {
	var s Selector
	if copy(s[:], data) < len(s) || !IsERC20(s) {
		return c, false, nil
	}
	const word = common.HashLength
	known, args := erc20[s], data[len(s):]
	c.Function = known.name
	if len(args) != known.words*word {
		return c, true, fmt.Errorf("has %d bytes after the name of %s, not %d", len(args), known.name, known.words*word)
	}
	for ; len(args) > word; args = args[word:] {
		padding := word - common.AddressLength
		if !bytes.Equal(args[:padding], make([]byte, padding)) {
			return c, true, fmt.Errorf("has in the place of an address of %s something else", known.name)
		}
		c.To = chain.Account(args[padding:word])
	}
	c.Amount = new(big.Int).SetBytes(args)
	return c, true, nil
}
