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

// binaryReceipts decides whether binary receipts of the next block are read. Safe for concurrent use.
type binaryReceipts struct {
	mu               sync.Mutex
	lastAllSubmitted bool // the last block had submitted attempts alone
	skip             int  // how many blocks are still to be read otherwise
	pause            int  // the value that skip last began with
}

// After a failed try binary receipts are skipped for 16 blocks, doubling up to 4096.
const minPause, maxPause = 16, 4096

// try reports whether to read the next block in binary: one after each that had submitted attempts alone.
func (b *binaryReceipts) try() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.lastAllSubmitted {
		return false
	}
	if b.skip > 0 {
		b.skip--
		return false
	}
	b.lastAllSubmitted = false
	return true
}

// sawBlock notes whether a block had submitted attempts alone.
func (b *binaryReceipts) sawBlock(allSubmitted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lastAllSubmitted = allSubmitted
}

// sawAnswer notes whether the node gave binary receipts.
func (b *binaryReceipts) sawAnswer(yes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if yes {
		b.pause = 0
		return
	}
	b.pause = min(max(2*b.pause, minPause), maxPause)
	b.skip = b.pause
}

// readBinaryReceipts reads a block by its transactions' hashes and its binary receipts, which do not
// name the sender. So it is complete only if all are submitted attempts, as on a chain with few other
// users. The method is standard, but many nodes offer it to their operators only, and a proxy may
// refuse a whole request for it. So it makes one request, and its failure is no error of the block.
func (c *Chain) readBinaryReceipts(ctx context.Context, block chain.Block, accounts []chain.Account) (found []chain.Inclusion, complete bool, err error) {
	if !c.binary.try() {
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
		c.binary.sawAnswer(false)
		c.forget() // after a silence the endpoint has to prove again which chain it serves
		_, err = c.known(ctx)
		return nil, false, err
	}
	c.binary.sawAnswer(calls[1].Error == nil)
	if b == nil || b.Transactions == nil || len(b.Transactions) != len(receipts) { // also if a call failed
		return nil, false, nil
	}
	for i, hash := range b.Transactions {
		in, known := c.submitted.find(chain.Hash(hash[:]))
		succeeded, readable := status(receipts[i])
		if !known || !readable {
			return nil, false, nil
		}
		in.Block, in.Effect = block, chain.EffectOf(!succeeded)
		found = append(found, in)
	}
	c.binary.sawBlock(true)
	found = slices.DeleteFunc(found, func(in chain.Inclusion) bool { return !slices.Contains(accounts, in.Account) })
	for _, in := range found {
		c.submitted.take(in.Hash)
	}
	return found, true, nil
}

// status reads the first of a receipt's four fields, in the encoding of EIP-2718: a list, after a
// byte for its type if it has one. Receipts from before Byzantium have a root there, which says
// nothing of success. Those of the peer protocol eth/69 begin with the type and have no bloom.
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
