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
