package evm

import (
	"bytes"
	"fmt"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// header is a block. The hash is the node's, since some chains hash fields of their own.
type header struct {
	Number   hexutil.Uint64 `json:"number"`
	Hash     hexutil.Bytes  `json:"hash"`
	Parent   hexutil.Bytes  `json:"parentHash"`
	GasLimit hexutil.Uint64 `json:"gasLimit"`
	BaseFee  *hexutil.Big   `json:"baseFeePerGas"`
	Requests *hexutil.Bytes `json:"requestsHash"` // since Prague
}

// block returns the zero Block for a nil header.
func (h *header) block() chain.Block {
	if h == nil {
		return chain.Block{}
	}
	return chain.Block{Number: uint64(h.Number), Hash: chain.Hash(h.Hash), Parent: chain.Hash(h.Parent)}
}

// valid reports whether h is a block: it has a hash, a parent and a number. Only the first
// block, whose parent is all zeros, has number 0.
func (h *header) valid() bool {
	return h != nil && len(h.Hash) > 0 && len(h.Parent) > 0 && (h.Number > 0 || len(bytes.Trim(h.Parent, "\x00")) == 0)
}

// complete reports whether h is a block with a base fee.
func (h *header) complete() bool { return h.valid() && h.BaseFee != nil }

// checkBlock returns an error if the answer about the head is not a block. A node that is not ready answers null,
// and an object without the fields of a block says nothing either.
func (c *Chain) checkBlock(h *header) error {
	switch {
	case h == nil:
		return fmt.Errorf("%w: %s has no latest block", chain.ErrUnreachable, c.cfg.URL)
	case !h.valid():
		return fmt.Errorf("%w: the latest block that %s returns is not a block", chain.ErrAnswer, c.cfg.URL)
	}
	return nil
}

// blockCall asks for a block by number or tag. It asks for the header alone where the client can:
// the hashes of a full block's transactions cost more than all else that is asked about a head.
func (f facts) blockCall(number string, into **header) rpc.BatchElem {
	if f.headersOnly {
		return rpc.BatchElem{Method: "eth_getHeaderByNumber", Args: []any{number}, Result: into}
	}
	return rpc.BatchElem{Method: "eth_getBlockByNumber", Args: []any{number, false}, Result: into}
}
