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
		in := chain.Inclusion{Account: sender, Hash: chain.Hash(r.Hash[:]), Block: block, Failed: *r.Status == 0}
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
		var known bool
		if found[i].Failed, known = failed[in.Hash]; !known {
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
