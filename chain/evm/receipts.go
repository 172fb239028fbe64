package evm

import (
	"context"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

type receipt struct {
	Hash   common.Hash     `json:"transactionHash"`
	Block  *common.Hash    `json:"blockHash"`
	From   *common.Address `json:"from"`
	Status *hexutil.Uint64 `json:"status"`
}

// receipted reads a block by its receipts. It is complete unless a receipt or field is missing.
func (c *Chain) receipted(ctx context.Context, block chain.Block, accounts []chain.Account) (ours []chain.Inclusion, complete bool, err error) {
	var receipts []*receipt
	err = c.all(ctx, []rpc.BatchElem{{Method: "eth_getBlockReceipts", Args: []any{block.Hash}, Result: &receipts}})
	if _, _, understood := answered(err); understood || err == nil && receipts == nil {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	var strange []int // positions in ours of attempts that were not submitted here
	for _, r := range receipts {
		if r == nil || r.From == nil || r.Status == nil {
			return nil, false, nil
		}
		a := chain.Account(r.From[:])
		if !slices.Contains(accounts, a) {
			continue
		}
		in := chain.Inclusion{Account: a, Hash: chain.Hash(r.Hash[:]), Failed: *r.Status == 0}
		own, known := c.submitted.take(in.Hash)
		if in.Index = own.Index; !known {
			strange = append(strange, len(ours))
		}
		ours = append(ours, in)
	}
	c.binary.sawBlock(len(ours)-len(strange) == len(receipts))
	return ours, true, c.number(ctx, ours, strange)
}

// number fetches the nonces of the transactions at the positions which.
func (c *Chain) number(ctx context.Context, ours []chain.Inclusion, which []int) error {
	found := make([]*transaction, len(which))
	calls := make([]rpc.BatchElem, len(which))
	for i, w := range which {
		calls[i] = rpc.BatchElem{Method: "eth_getTransactionByHash", Args: []any{ours[w].Hash}, Result: &found[i]}
	}
	if err := c.all(ctx, calls); err != nil {
		return err
	}
	for i, w := range which {
		if found[i] == nil {
			return fmt.Errorf("%w: transaction %v, though its receipt is there", chain.ErrNotFound, ours[w].Hash)
		}
		index, err := c.index(found[i])
		if err != nil {
			return err
		}
		ours[w].Index = index
	}
	return nil
}

// failures returns which of our transactions in a block had no effect.
func (c *Chain) failures(ctx context.Context, block chain.Hash, ours []chain.Inclusion) (map[chain.Hash]bool, error) {
	var receipts []*receipt
	calls := []rpc.BatchElem{{Method: "eth_getBlockReceipts", Args: []any{block}, Result: &receipts}}
	err := c.all(ctx, calls)
	if _, _, understood := answered(err); understood { // some clients lack the method
		receipts, err = c.receipts(ctx, ours)
	}
	if err != nil {
		return nil, err
	}
	failed := map[chain.Hash]bool{}
	for _, r := range receipts {
		if r != nil && r.Status != nil {
			failed[chain.Hash(r.Hash[:])] = *r.Status == 0
		}
	}
	for _, in := range ours {
		if _, known := failed[in.Hash]; !known {
			return nil, fmt.Errorf("%w: the receipt of %v, though it is in block %v", chain.ErrNotFound, in.Hash, block)
		}
	}
	return failed, nil
}

func (c *Chain) receipts(ctx context.Context, ours []chain.Inclusion) ([]*receipt, error) {
	receipts := make([]*receipt, len(ours))
	calls := make([]rpc.BatchElem, len(ours))
	for i, in := range ours {
		calls[i] = rpc.BatchElem{Method: "eth_getTransactionReceipt", Args: []any{in.Hash}, Result: &receipts[i]}
	}
	return receipts, c.all(ctx, calls)
}
