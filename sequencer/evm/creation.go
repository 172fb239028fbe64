package evm

import (
	_ "embed" // the compiled contract
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/ledger"
)

//go:embed solidity/Ledger.json
var compiled []byte

// artifact is what the compiler made of a contract.
type artifact struct {
	Creation   hexutil.Bytes    // what creates it, before its arguments
	Code       hexutil.Bytes    // what it is then, with zeros for the values of immutables
	Immutables map[string][]int // where those values stand, by name
}

func parse(text []byte) (a artifact, err error) {
	if err = json.Unmarshal(text, &a); err != nil {
		return a, fmt.Errorf("the compiled contract: %w", err)
	}
	return a, nil
}

// declaration encodes what is agreed on, without chain and address.
func declaration(c ledger.Contract) []byte {
	return tuple(behind(accounts(c.Members)), behind(accounts(c.Committee)),
		fixed(number(uint64(c.Needed)), number(c.Range), number(c.Depth), number(c.Life)),
		behind(text([]byte(ranking.Default(c.Policy)))), behind(text([]byte(c.Domain))))
}

// Creation returns the data of the transaction that creates a contract. Chain and Address are not in it: the first is
// the chain's that takes it, the second is what the chain makes of the sender and its nonce.
func Creation(c ledger.Contract) ([]byte, error) {
	return creation(compiled, c)
}

func creation(text []byte, c ledger.Contract) ([]byte, error) {
	a, err := parse(text)
	if err != nil {
		return nil, err
	}
	for _, m := range slices.Concat(c.Members, c.Committee) {
		if len(m) != addressSize {
			return nil, fmt.Errorf("the member %v is no address: it has %d bytes, and not %d", m, len(m), addressSize)
		}
	}
	return slices.Concat(a.Creation, tuple(behind(declaration(c)))), nil
}

// code returns the code that a contract must have, and that of its list of members, which is a contract beside it.
func code(c ledger.Contract, since uint64) (own []byte, list common.Address, members []byte, err error) {
	a, err := parse(compiled)
	if err != nil {
		return nil, list, nil, err
	}
	list = crypto.CreateAddress(common.HexToAddress(c.Address), 1) // the first that it has created
	own = slices.Clone(a.Code)
	values := map[string]word{
		"chain": number(c.Chain), "count": number(uint64(len(c.Members))), "declared": word(Scheme{}.Declared(c)),
		"list": account(ledger.Account(list[:])), "needed": number(uint64(c.Needed)), "separator": separator(c), "since": number(since),
	}
	for name, places := range a.Immutables {
		value, known := values[name]
		for _, at := range places {
			if !known || at < 0 || at+wordSize > len(own) {
				return nil, list, nil, fmt.Errorf("the compiled contract: no value of %s at %d", name, at)
			}
			copy(own[at:], value[:])
		}
	}
	members = []byte{0}
	for _, m := range c.Members {
		w := account(m)
		members = append(members, w[:]...)
	}
	return own, list, members, nil
}
