package evm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pause"
)

type receipt struct {
	Hash   common.Hash     `json:"transactionHash"`
	Block  *common.Hash    `json:"blockHash"`
	From   *common.Address `json:"from"`
	Status *hexutil.Uint64 `json:"status"`
}

// says reports whether the receipt says what became of a transaction in a block.
func (r *receipt) says(in chain.Inclusion) bool {
	return r != nil && r.Status != nil && r.Block != nil && chain.Hash(r.Block[:]) == in.Block.Hash && chain.Hash(r.Hash[:]) == in.Hash
}

// readReceipts reads a block by its receipts. It is complete unless a receipt or field is missing.
func (c *Chain) readReceipts(ctx context.Context, block chain.Block, accounts []chain.Account) (found []chain.Inclusion, complete bool, err error) {
	var receipts []*receipt
	err = c.all(ctx, []rpc.BatchElem{{Method: "eth_getBlockReceipts", Args: []any{block.Hash}, Result: &receipts}})
	if _, _, understood := answered(err); understood || err == nil && receipts == nil {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	var others []int // positions in found of transactions that are no submitted attempts
	for _, r := range receipts {
		if r == nil || r.From == nil || r.Status == nil {
			return nil, false, nil
		}
		sender := chain.Account(r.From[:])
		if !slices.Contains(accounts, sender) {
			continue
		}
		in := chain.Inclusion{Account: sender, Hash: chain.Hash(r.Hash[:]), Block: block, Effect: chain.EffectOf(*r.Status == 0)}
		attempt, known := c.submitted.take(in.Hash)
		if in.Index = attempt.Index; !known {
			others = append(others, len(found))
		}
		found = append(found, in)
	}
	c.binary.sawBlock(len(found)-len(others) == len(receipts))
	return found, true, c.fillNonces(ctx, found, others)
}

// fillNonces fills in the nonces of the transactions at some positions.
func (c *Chain) fillNonces(ctx context.Context, found []chain.Inclusion, at []int) error {
	answers := make([]*transaction, len(at))
	calls := make([]rpc.BatchElem, len(at))
	for i, n := range at {
		calls[i] = rpc.BatchElem{Method: "eth_getTransactionByHash", Args: []any{found[n].Hash}, Result: &answers[i]}
	}
	if err := c.all(ctx, calls); err != nil {
		return err
	}
	for i, n := range at {
		if answers[i] == nil {
			return fmt.Errorf("%w: transaction %v, though its receipt is there", chain.ErrNotFound, found[n].Hash)
		}
		index, err := c.index(answers[i])
		if err != nil {
			return err
		}
		found[n].Index = index
	}
	return nil
}

// fillFailed fills in which transactions in a block had no effect.
func (c *Chain) fillFailed(ctx context.Context, block chain.Hash, found []chain.Inclusion) error {
	var receipts []*receipt
	calls := []rpc.BatchElem{{Method: "eth_getBlockReceipts", Args: []any{block}, Result: &receipts}}
	err := c.all(ctx, calls)
	if _, _, understood := answered(err); understood { // some clients lack the method
		receipts, err = c.receiptsOf(ctx, found)
	}
	if err != nil {
		return err
	}
	failed := map[chain.Hash]bool{}
	for _, r := range receipts {
		if r != nil && r.Status != nil {
			failed[chain.Hash(r.Hash[:])] = *r.Status == 0
		}
	}
	for i, in := range found {
		how, known := failed[in.Hash]
		if found[i].Effect = chain.EffectOf(how); !known {
			return fmt.Errorf("%w: the receipt of %v, though it is in block %v", chain.ErrNotFound, in.Hash, block)
		}
	}
	return nil
}

// receiptsOf asks for the receipt of each transaction, and again for those that are missing: where a third of the
// backends lacks a block, dozens of receipts never all come in one request.
func (c *Chain) receiptsOf(ctx context.Context, found []chain.Inclusion) ([]*receipt, error) {
	receipts := make([]*receipt, len(found))
	for try := range maxTries {
		var calls []rpc.BatchElem
		for i, in := range found {
			if r := receipts[i]; r == nil || r.Status == nil || r.Block == nil {
				receipts[i] = nil
				calls = append(calls, rpc.BatchElem{Method: "eth_getTransactionReceipt", Args: []any{in.Hash}, Result: &receipts[i]})
			}
		}
		if len(calls) == 0 || try > 0 && pause.For(ctx, time.Duration(try)*10*time.Millisecond) != nil {
			break
		}
		if err := c.all(ctx, calls); err != nil {
			return nil, err
		}
	}
	return receipts, ctx.Err()
}

// receiptsIn returns the receipts of transactions in the blocks that they name, and nil for one that the endpoint does not have.
// Of a block with many of them all receipts are asked for at once, and so are those that it does not find by the
// transaction's hash: not every node has both ways.
func (c *Chain) receiptsIn(ctx context.Context, in []chain.Inclusion) ([]*receipt, error) {
	of := map[chain.Hash]int{}
	for _, one := range in {
		of[one.Block.Hash]++
	}
	many := func(block chain.Hash) bool { return of[block] >= chain.ReceiptsApart }
	receipts := make([]*receipt, len(in))
	if err := c.fillFromBlocks(ctx, in, receipts, many); err != nil {
		return nil, err
	}
	var at []int
	var missing []chain.Inclusion
	for i, r := range receipts {
		if r == nil {
			at, missing = append(at, i), append(missing, in[i])
		}
	}
	apart, err := c.receiptsOf(ctx, missing)
	if _, _, understood := answered(err); err != nil && !understood { // a node may still make its index
		return nil, err
	}
	for n, r := range apart {
		if i := at[n]; r.says(in[i]) {
			receipts[i] = r
		}
	}
	return receipts, c.fillFromBlocks(ctx, in, receipts, func(block chain.Hash) bool { return !many(block) })
}

// fillFromBlocks fills in the receipts that are missing of some blocks, from all receipts of these. What a node refuses to say
// of a block stays missing.
func (c *Chain) fillFromBlocks(ctx context.Context, in []chain.Inclusion, receipts []*receipt, asks func(block chain.Hash) bool) error {
	var calls []rpc.BatchElem
	lists := map[chain.Hash]*[]*receipt{}
	for i, one := range in {
		if block := one.Block.Hash; receipts[i] == nil && lists[block] == nil && asks(block) {
			lists[block] = new([]*receipt)
			calls = append(calls, rpc.BatchElem{Method: "eth_getBlockReceipts", Args: []any{block}, Result: lists[block]})
		}
	}
	if err := c.read(ctx, calls, faulty); err != nil && !tooLarge(err) && !answerTooLarge(err) {
		return err
	}
	said := map[chain.Hash]*receipt{} // no two of these blocks have the same transaction
	for _, list := range lists {
		for _, r := range *list {
			if r != nil {
				said[chain.Hash(r.Hash[:])] = r
			}
		}
	}
	for i, one := range in {
		if r := said[one.Hash]; receipts[i] == nil && r.says(one) {
			receipts[i] = r
		}
	}
	return nil
}
