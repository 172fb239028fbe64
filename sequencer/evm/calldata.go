package evm

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/sequencer/ledger"
)

// The contract's functions by their selectors.
var (
	submitSelector      = selector("submit((address,uint128,bytes32,bytes32[],bytes32[],bytes32[],bytes,(uint256,(bytes32,bytes32))[],bytes32,uint64,(bytes32,bytes32))[])")
	cancelSelector      = selector("cancel(address,uint128,(bytes32,bytes32))")
	overSelector        = selector("over(address,uint128)")
	unspentSelector     = selector("unspent(bytes32)")
	declaredSelector    = selector("declared()")
	sinceSelector       = selector("since()")
	declarationSelector = selector("declaration()")
)

func selector(signature string) []byte { return crypto.Keccak256([]byte(signature))[:4] }

func call(selector []byte, arguments ...word) []byte {
	return append(append([]byte{}, selector...), join(arguments...)...)
}

// errSent is in the error of a transaction that the contract has no function for.
var errSent = errors.New("the contract takes entries of owners with an address, or one cancellation")

// Calldata returns the data of the transaction that puts entries, or a cancellation, before the contract.
//
// Assembled hash and coordinator of a grant are not sent: the contract computes the one and takes its sender for the
// other. So a grant whose owner has signed what is computed counts, whatever its words say.
func Calldata(tx ledger.Sent) ([]byte, error) {
	if (tx.Cancel != nil) == (len(tx.Entries) > 0) {
		return nil, errSent
	}
	if c := tx.Cancel; c != nil {
		if len(c.Owner) != addressSize {
			return nil, fmt.Errorf("%w: %v", errSent, c.Owner)
		}
		r, vs := compact(c.Signature)
		return call(cancelSelector, account(c.Owner), sequence(c.Sequence), r, vs), nil
	}
	var entries []part
	for _, e := range tx.Entries {
		if len(e.Owner) != addressSize {
			return nil, fmt.Errorf("%w: %v", errSent, e.Owner)
		}
		entries = append(entries, behind(encodeEntry(e)))
	}
	n := number(uint64(len(entries)))
	all := append(n[:], tuple(entries...)...)
	return append(append([]byte{}, submitSelector...), tuple(behind(all))...), nil
}

func encodeEntry(e ledger.Entry) []byte {
	r, vs := compact(e.Grant.Signature)
	return tuple(
		fixed(account(e.Owner), sequence(e.Sequence), word(e.Payload)),
		behind(hashes(e.Inputs)), behind(hashes(e.Reads)), behind(hashes(e.Outputs)), behind(text(e.Data)),
		behind(list(e.Endorsements, encodeEndorsement)),
		fixed(word(e.Grant.Delegation), number(e.Grant.ValidUntil), r, vs))
}

func encodeEndorsement(e ledger.Endorsement) []byte {
	r, vs := compact(e.Signature)
	member := number(uint64(e.Member))
	if e.Member < 0 { // the place of nobody
		for i := range member {
			member[i] = 0xff
		}
	}
	return join(member, r, vs)
}
