package evm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// transaction is what is needed of one in a block. Some kinds, of chains with ideas
// of their own, can not be decoded; none of ours is of these.
type transaction struct {
	Hash  common.Hash     `json:"hash"`
	From  *common.Address `json:"from"`
	Nonce hexutil.Uint64  `json:"nonce"`
}

// Inclusions implements chain.Chain. While attempts that were handed over are expected,
// the receipts of a block say all that is needed, and are half the work of its
// transactions and receipts for the node and for us. Of other people's blocks the
// transactions are less to read.
func (c *Chain) Inclusions(ctx context.Context, block chain.Block, accounts []chain.Account) ([]chain.Inclusion, error) {
	if _, err := c.known(ctx); err != nil {
		return nil, err
	}
	if c.handed.any() {
		if ours, complete, err := c.receipted(ctx, block, accounts); complete || err != nil {
			return ours, err
		}
	}
	_, ours, err := c.sent(ctx, "eth_getBlockByHash", block.Hash, accounts)
	if err != nil || len(ours) == 0 {
		return nil, err
	}
	failed, err := c.failures(ctx, block.Hash, ours)
	if err != nil {
		return nil, err
	}
	for i := range ours {
		ours[i].Failed = failed[ours[i].Hash]
		c.handed.take(ours[i].Hash)
	}
	return ours, nil
}

// receipted reads a block's receipts alone. It is not complete if the node has none, or
// leaves out what is needed.
func (c *Chain) receipted(ctx context.Context, block chain.Block, accounts []chain.Account) (ours []chain.Inclusion, complete bool, err error) {
	var receipts []*receipt
	err = c.all(ctx, []rpc.BatchElem{{Method: "eth_getBlockReceipts", Args: []any{block.Hash}, Result: &receipts}})
	if _, _, understood := answered(err); understood || err == nil && receipts == nil {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	var strange []int // not handed over by us
	for _, r := range receipts {
		if r == nil || r.From == nil || r.Status == nil {
			return nil, false, nil
		}
		a := chain.Account(r.From[:])
		if !slices.Contains(accounts, a) {
			continue
		}
		in := chain.Inclusion{Account: a, Hash: chain.Hash(r.Hash[:]), Failed: *r.Status == 0}
		index, known := c.handed.take(in.Hash)
		if in.Index = index; !known {
			strange = append(strange, len(ours))
		}
		ours = append(ours, in)
	}
	return ours, true, c.number(ctx, ours, strange)
}

// number asks for the indices of some.
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
		index, err := c.count("index", found[i].Nonce)
		if err != nil {
			return err
		}
		ours[w].Index = index
	}
	return nil
}

// sent lists the transactions of the accounts in a block, named as the method wants.
func (c *Chain) sent(ctx context.Context, method string, name any, accounts []chain.Account) (chain.Block, []chain.Inclusion, error) {
	var b *struct {
		header
		Transactions []rawTransaction `json:"transactions"`
	}
	if err := c.all(ctx, []rpc.BatchElem{{Method: method, Args: []any{name, true}, Result: &b}}); err != nil {
		return chain.Block{}, nil, err
	}
	if b == nil {
		return chain.Block{}, nil, fmt.Errorf("%w: block %v", chain.ErrNotFound, name)
	}
	if _, err := c.count("block", b.Number); err != nil {
		return chain.Block{}, nil, err
	}
	wanted := map[chain.Account]bool{}
	for _, a := range accounts {
		wanted[a] = true
	}
	var ours []chain.Inclusion
	for _, raw := range b.Transactions {
		from, err := raw.sender()
		if err != nil {
			return chain.Block{}, nil, fmt.Errorf("block %v: %w", name, err)
		}
		a := chain.Account(from[:])
		if !wanted[a] {
			continue
		}
		index, err := c.count("index", raw.tx.Nonce)
		if err != nil {
			return chain.Block{}, nil, err
		}
		ours = append(ours, chain.Inclusion{Account: a, Index: index, Hash: chain.Hash(raw.tx.Hash[:])})
	}
	return b.block(), ours, nil
}

// rawTransaction keeps its text for the case that the node does not name the sender.
type rawTransaction struct {
	tx   transaction
	text []byte
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *rawTransaction) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &r.tx); err != nil {
		return err
	}
	if r.tx.From == nil {
		r.text = append([]byte(nil), text...)
	}
	return nil
}

// sender is who the node says it is, or else who signed.
func (r rawTransaction) sender() (common.Address, error) {
	if r.tx.From != nil {
		return *r.tx.From, nil
	}
	var tx types.Transaction
	if err := tx.UnmarshalJSON(r.text); err != nil {
		return common.Address{}, fmt.Errorf("a transaction without a sender: %w", err)
	}
	return types.Sender(types.LatestSignerForChainID(tx.ChainId()), &tx)
}

type receipt struct {
	Hash   common.Hash     `json:"transactionHash"`
	Block  *common.Hash    `json:"blockHash"`
	From   *common.Address `json:"from"`
	Status *hexutil.Uint64 `json:"status"`
}

// failures tells which transactions of a block had no effect.
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
