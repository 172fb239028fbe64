package evm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// Probe implements chain.Chain. A node that was killed and came back shorter may go on
// naming the block that a transaction was in before, from an index that nobody has told;
// such a block is not in the chain, and its transaction is nowhere.
func (c *Chain) Probe(ctx context.Context, hashes []chain.Hash) ([]chain.Sighting, error) {
	if _, err := c.known(ctx); err != nil {
		return nil, err
	}
	type place struct {
		Block  *hexutil.Bytes  `json:"blockHash"`
		Number *hexutil.Uint64 `json:"blockNumber"`
	}
	places := make([]*place, len(hashes))
	calls := make([]rpc.BatchElem, len(hashes))
	for i, h := range hashes {
		calls[i] = rpc.BatchElem{Method: "eth_getTransactionByHash", Args: []any{h}, Result: &places[i]}
	}
	if err := c.all(ctx, calls); err != nil {
		return nil, err
	}
	seen := make([]chain.Sighting, len(hashes))
	named := map[uint64]chain.Hash{}
	for i, p := range places {
		switch {
		case p == nil:
		case p.Block == nil || p.Number == nil:
			seen[i].Where = chain.Pooled
		default:
			seen[i] = chain.Sighting{Where: chain.Included, Block: chain.Block{Number: uint64(*p.Number), Hash: chain.Hash(*p.Block)}}
			named[seen[i].Block.Number] = ""
		}
	}
	if err := c.canonical(ctx, named); err != nil {
		return nil, err
	}
	for i, s := range seen {
		if s.Where == chain.Included && named[s.Block.Number] != s.Block.Hash {
			seen[i] = chain.Sighting{}
		}
	}
	return seen, nil
}

// canonical fills in the hashes of the blocks at these heights of the best chain; none
// where it does not reach.
func (c *Chain) canonical(ctx context.Context, at map[uint64]chain.Hash) error {
	heights := slices.Sorted(maps.Keys(at))
	headers := make([]*header, len(heights))
	calls := make([]rpc.BatchElem, len(heights))
	for i, n := range heights {
		calls[i] = rpc.BatchElem{Method: "eth_getBlockByNumber", Args: []any{hexutil.Uint64(n), false}, Result: &headers[i]}
	}
	if err := c.all(ctx, calls); err != nil {
		return err
	}
	for i, n := range heights {
		at[n] = headers[i].block().Hash
	}
	return nil
}

// transaction is what is needed of one in a block. Some kinds, of chains with ideas
// of their own, can not be decoded; none of ours is of these.
type transaction struct {
	Hash  common.Hash     `json:"hash"`
	From  *common.Address `json:"from"`
	Nonce hexutil.Uint64  `json:"nonce"`
}

// Inclusions implements chain.Chain.
func (c *Chain) Inclusions(ctx context.Context, block chain.Block, accounts []chain.Account) ([]chain.Inclusion, error) {
	if _, err := c.known(ctx); err != nil {
		return nil, err
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
	}
	return ours, nil
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
		if a := chain.Account(from[:]); wanted[a] {
			ours = append(ours, chain.Inclusion{Account: a, Index: uint64(raw.tx.Nonce), Hash: chain.Hash(raw.tx.Hash[:])})
		}
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

// Find implements chain.Chain. The account's index grows with the blocks, so the one
// in which it passes the slot is found by halving; a node that has pruned the states
// that this needs is asked for block after block instead.
func (c *Chain) Find(ctx context.Context, a chain.Account, index, from uint64) (chain.Inclusion, chain.Block, error) {
	missing := fmt.Errorf("%w: a transaction of %v with index %d from block %d on", chain.ErrNotFound, a, index, from)
	if _, err := c.known(ctx); err != nil {
		return chain.Inclusion{}, chain.Block{}, err
	}
	var head, next hexutil.Uint64
	if err := c.all(ctx, []rpc.BatchElem{
		{Method: "eth_blockNumber", Result: &head},
		{Method: "eth_getTransactionCount", Args: []any{a, "latest"}, Result: &next},
	}); err != nil {
		return chain.Inclusion{}, chain.Block{}, err
	}
	if uint64(next) <= index || uint64(head) < from {
		return chain.Inclusion{}, chain.Block{}, missing
	}
	at, err := c.halve(ctx, a, index, from, uint64(head))
	low, high := at, at
	if _, _, understood := answered(err); understood {
		low, high, err = from, uint64(head), nil
	}
	if err != nil {
		return chain.Inclusion{}, chain.Block{}, err
	}
	for number := low; number <= high; number++ {
		b, ours, err := c.sent(ctx, "eth_getBlockByNumber", hexutil.Uint64(number), []chain.Account{a})
		if errors.Is(err, chain.ErrNotFound) {
			break // the head went back meanwhile
		}
		if err != nil {
			return chain.Inclusion{}, chain.Block{}, err
		}
		for _, in := range ours {
			if in.Index == index {
				failed, err := c.failures(ctx, b.Hash, []chain.Inclusion{in})
				in.Failed = failed[in.Hash]
				return in, b, err
			}
		}
	}
	return chain.Inclusion{}, chain.Block{}, missing
}

// halve finds the first block after which the account's next index is above.
func (c *Chain) halve(ctx context.Context, a chain.Account, index, low, high uint64) (uint64, error) {
	for low < high {
		middle := low + (high-low)/2
		var next hexutil.Uint64
		calls := []rpc.BatchElem{{Method: "eth_getTransactionCount", Args: []any{a, hexutil.Uint64(middle)}, Result: &next}}
		if err := c.all(ctx, calls); err != nil {
			return 0, err
		}
		if uint64(next) > index {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low, nil
}
