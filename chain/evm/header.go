package evm

import (
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
)

// header is what is needed of a block. Its hash is what the node says: chains with
// fields of their own hash them as well.
type header struct {
	Number   hexutil.Uint64 `json:"number"`
	Hash     hexutil.Bytes  `json:"hash"`
	Parent   hexutil.Bytes  `json:"parentHash"`
	GasLimit hexutil.Uint64 `json:"gasLimit"`
	BaseFee  *hexutil.Big   `json:"baseFeePerGas"`
}

// block is the zero Block of no header.
func (h *header) block() chain.Block {
	if h == nil {
		return chain.Block{}
	}
	return chain.Block{Number: uint64(h.Number), Hash: chain.Hash(h.Hash), Parent: chain.Hash(h.Parent)}
}
