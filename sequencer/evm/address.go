package evm

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/sequencer/ledger"
)

// AddressOf returns the address of the contract that a transaction of an account creates, by its nonce.
func AddressOf(creator ledger.Account, nonce uint64) string {
	return crypto.CreateAddress(common.BytesToAddress([]byte(creator)), nonce).Hex()
}

// Spelled returns an address in its one spelling (EIP-55), by whose letters a committee is ranked. What is no address
// stays as it is.
func Spelled(address string) string {
	if !common.IsHexAddress(address) {
		return address
	}
	return common.HexToAddress(address).Hex()
}
