package evm

import (
	"bytes"
	"fmt"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

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

// named says that it is a block: every one has a hash and a parent's, and a number, for
// only the first is number 0 and has a parent's hash of nothing but zeros.
func (h *header) named() bool {
	return h != nil && len(h.Hash) > 0 && len(h.Parent) > 0 && (h.Number > 0 || len(bytes.Trim(h.Parent, "\x00")) == 0)
}

// whole says that nothing that is needed is left out.
func (h *header) whole() bool { return h.named() && h.BaseFee != nil }

// blank is why an answer is no block, nil if it is one. Null is what nodes say that are
// not ready, and an object that lacks what every block has means nothing either: who
// takes it for a block of zeros has it from nobody.
func (c *Chain) blank(what string, h *header) error {
	switch {
	case h == nil:
		return fmt.Errorf("%w: %s has no %s block", chain.ErrUnreachable, c.cfg.URL, what)
	case !h.named():
		return fmt.Errorf("%w: what %s says is its %s block is none", chain.ErrAnswer, c.cfg.URL, what)
	}
	return nil
}

// asked is the request for a block by its number or a tag, without its transactions. The
// list of the hashes of a full one costs the node and us more than all else that is asked
// about a head, and there is a request that leaves it out, though not with every client.
func (f facts) asked(number string, into **header) rpc.BatchElem {
	if f.lean {
		return rpc.BatchElem{Method: "eth_getHeaderByNumber", Args: []any{number}, Result: into}
	}
	return rpc.BatchElem{Method: "eth_getBlockByNumber", Args: []any{number, false}, Result: into}
}
