package evm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/sequencer/ledger"
)

// The contract's events by their first topics.
var (
	landedTopic    = crypto.Keccak256Hash([]byte("Landed(address,uint128,bytes32,bytes32)"))
	cancelledTopic = crypto.Keccak256Hash([]byte("Cancelled(address,uint128)"))
	skippedTopic   = crypto.Keccak256Hash([]byte("Skipped(address,uint128,bytes32,bytes32,uint8)"))
)

// errLog is in the error of a log that the contract cannot have written, or not there.
var errLog = errors.New("the endpoint shows a log that cannot be the contract's")

// readFacts returns what a block did with intents, from the contract's logs in it: all of them, in their order.
func readFacts(contract common.Address, block common.Hash, logs []types.Log) ([]ledger.Fact, error) {
	facts := make([]ledger.Fact, 0, len(logs))
	for i, l := range logs {
		if l.BlockHash != block || l.Removed || i > 0 && l.Index <= logs[i-1].Index {
			return nil, fmt.Errorf("%w: number %d of block %v is of block %v", errLog, l.Index, block, l.BlockHash)
		}
		f, err := fact(contract, l)
		if err != nil {
			return nil, err
		}
		facts = append(facts, f)
	}
	return facts, nil
}

func fact(contract common.Address, l types.Log) (f ledger.Fact, err error) {
	bad := func(what string) error {
		return fmt.Errorf("%w: number %d of block %d: %s", errLog, l.Index, l.BlockNumber, what)
	}
	if l.Address != contract || len(l.Topics) != 3 {
		return f, bad("its address or its topics")
	}
	owner, seq := l.Topics[1], l.Topics[2]
	if common.BytesToHash(owner[wordSize-addressSize:]) != owner || common.BytesToHash(seq[wordSize-16:]) != seq {
		return f, bad("its owner or its sequence")
	}
	f.Owner = ledger.Account(owner[wordSize-addressSize:])
	f.Sequence = ledger.Sequence{Lineage: binary.BigEndian.Uint64(seq[16:24]), Counter: binary.BigEndian.Uint64(seq[24:])}
	words := map[common.Hash]int{cancelledTopic: 0, landedTopic: 2, skippedTopic: 3}
	n, known := words[l.Topics[0]]
	if !known || len(l.Data) != n*wordSize {
		return f, bad("its kind or its length")
	}
	if n > 0 {
		f.Payload, f.Assembled = ledger.Hash(l.Data[:32]), ledger.Hash(l.Data[32:64])
	}
	if n > 2 {
		reason := l.Data[95]
		if common.BytesToHash(l.Data[64:]) != common.BytesToHash([]byte{reason}) || reason == 0 || ledger.Reason(reason) > ledger.Missing {
			return f, bad("its reason")
		}
		f.Skipped = ledger.Reason(reason)
	} else if n > 0 && f.Assembled == (ledger.Hash{}) {
		return f, bad("an attempt without a name")
	}
	return f, nil
}
