package evm

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// habit is what the last blocks were like, and so how the next one is asked for. It is
// about what is cheap; what is true does not depend on it.
type habit struct {
	alone atomic.Bool // everything in the last block had been handed over by us
	deaf  atomic.Bool // the node does not give binary receipts
}

// recognized reads a block by the hashes of its transactions and by its receipts in
// binary, which name nobody: it is complete only if every hash is of an attempt that was
// handed over. That is so on a chain that has few other users, where blocks are full of
// ours. The method is in the standard of the JSON-RPC, but many nodes offer it to their
// operators only.
func (c *Chain) recognized(ctx context.Context, block chain.Block, accounts []chain.Account) (ours []chain.Inclusion, complete bool, err error) {
	if c.habit.deaf.Load() || !c.habit.alone.Swap(false) {
		return nil, false, nil
	}
	var b *struct {
		Transactions []common.Hash `json:"transactions"`
	}
	var receipts []hexutil.Bytes
	calls := []rpc.BatchElem{
		{Method: "eth_getBlockByHash", Args: []any{block.Hash, false}, Result: &b},
		{Method: "debug_getRawReceipts", Args: []any{block.Hash}, Result: &receipts},
	}
	if err := c.batch(ctx, calls); err != nil {
		return nil, false, err
	}
	_, _, refused := answered(calls[1].Error)
	c.habit.deaf.Store(refused)
	if b == nil || len(b.Transactions) != len(receipts) { // or an answer is an error, or none
		return nil, false, nil
	}
	for i, hash := range b.Transactions {
		in, known := c.handed.find(chain.Hash(hash[:]))
		succeeded, readable := status(receipts[i])
		if !known || !readable {
			return nil, false, nil
		}
		in.Failed = !succeeded
		ours = append(ours, in)
	}
	c.habit.alone.Store(true)
	ours = slices.DeleteFunc(ours, func(in chain.Inclusion) bool { return !slices.Contains(accounts, in.Account) })
	for _, in := range ours {
		c.handed.take(in.Hash)
	}
	return ours, true, nil
}

// status reads the first field of a receipt as EIP-2718 encodes it: a list, behind the
// number of its kind if it has one. Receipts from before Byzantium have something else
// there, which says nothing of success.
func status(receipt []byte) (succeeded, readable bool) {
	if len(receipt) > 0 && receipt[0] < 0x80 {
		receipt = receipt[1:]
	}
	fields, rest, err := rlp.SplitList(receipt)
	if err != nil || len(rest) > 0 {
		return false, false
	}
	first, _, err := rlp.SplitString(fields)
	if err != nil {
		return false, false
	}
	switch string(first) {
	case "":
		return false, true
	case "\x01":
		return true, true
	default:
		return false, false
	}
}
