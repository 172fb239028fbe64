package evm

import (
	"context"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// habit is what the last blocks were like, and so how the next one is asked for. It is
// about what is cheap; what is true does not depend on it. Safe for concurrent use.
type habit struct {
	mu    sync.Mutex
	alone bool // everything in the last block had been handed over by us
	skip  int  // so many blocks are not asked for in binary,
	pause int  // and so many were not before
}

// longest is how many blocks are read otherwise at most after binary receipts were not to
// be had, the first time fewest: nothing is lost by it but what it would have saved.
const fewest, longest = 16, 4096

// short tells whether a block is worth asking for in binary. Until somebody says that it
// had nothing but ours, the next one is not.
func (h *habit) short() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.alone {
		return false
	}
	if h.skip > 0 {
		h.skip--
		return false
	}
	h.alone = false
	return true
}

// was notes whether a block had nothing but what was handed over.
func (h *habit) was(alone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.alone = alone
}

// served notes whether binary receipts were to be had.
func (h *habit) served(yes bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if yes {
		h.pause = 0
		return
	}
	h.pause = min(max(2*h.pause, fewest), longest)
	h.skip = h.pause
}

// recognized reads a block by the hashes of its transactions and by its receipts in
// binary, which name nobody: it is complete only if every hash is of an attempt that was
// handed over. That is so on a chain that has few other users, where blocks are full of
// ours. The method is in the standard of the JSON-RPC, but many nodes offer it to their
// operators only, and what stands before a node may refuse all of a request for it: so
// this is tried once, and whatever goes wrong is not the block's fault.
func (c *Chain) recognized(ctx context.Context, block chain.Block, accounts []chain.Account) (ours []chain.Inclusion, complete bool, err error) {
	if !c.habit.short() {
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
	if err := c.endpoint.batch(ctx, calls); err != nil {
		c.habit.served(false)
		c.forget() // it was silent: who answers next has to prove anew which chain it serves
		_, err = c.known(ctx)
		return nil, false, err
	}
	c.habit.served(calls[1].Error == nil)
	if b == nil || b.Transactions == nil || len(b.Transactions) != len(receipts) { // or an answer is an error, or none
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
	c.habit.was(true)
	ours = slices.DeleteFunc(ours, func(in chain.Inclusion) bool { return !slices.Contains(accounts, in.Account) })
	for _, in := range ours {
		c.handed.take(in.Hash)
	}
	return ours, true, nil
}

// status reads the first of the four fields of a receipt as EIP-2718 encodes it: a list,
// behind the number of its kind if it has one. Receipts from before Byzantium have a root
// there, which says nothing of success; what nodes send each other since eth/69 begins
// with the kind, and has no bloom.
func status(receipt []byte) (succeeded, readable bool) {
	if len(receipt) > 0 && receipt[0] < 0x80 {
		receipt = receipt[1:]
	}
	fields, rest, err := rlp.SplitList(receipt)
	if n, _ := rlp.CountValues(fields); err != nil || len(rest) > 0 || n != 4 {
		return false, false
	}
	first, fields, err := rlp.SplitString(fields)
	_, fields, gasless := rlp.SplitString(fields)
	bloom, _, bloomless := rlp.SplitString(fields)
	if err != nil || gasless != nil || bloomless != nil || len(bloom) != types.BloomByteLength {
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
