package evm

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// transaction is what is needed of one in a block. Some kinds, of chains with ideas
// of their own, cannot be decoded; none of ours is of these.
type transaction struct {
	Hash  common.Hash     `json:"hash"`
	From  *common.Address `json:"from"`
	Nonce *hexutil.Uint64 `json:"nonce"`
}

// Inclusions implements chain.Chain. While attempts that were handed over are expected,
// the receipts of a block say all that is needed, and are half the work of its
// transactions and receipts for the node and for us; of a block of nothing else its
// hashes and binary receipts do, which are a fraction of that. Of other people's blocks
// the transactions are less to read.
func (c *Chain) Inclusions(ctx context.Context, block chain.Block, accounts []chain.Account) ([]chain.Inclusion, error) {
	if _, err := c.known(ctx); err != nil {
		return nil, err
	}
	if c.handed.any() {
		if ours, complete, err := c.recognized(ctx, block, accounts); complete || err != nil {
			return ours, err
		}
		if ours, complete, err := c.receipted(ctx, block, accounts); complete || err != nil {
			return ours, err
		}
	}
	b, ours, err := c.sent(ctx, "eth_getBlockByHash", block.Hash, accounts)
	if err == nil && b.Hash != block.Hash {
		err = fmt.Errorf("%w: what %s says is block %v is %v", chain.ErrAnswer, c.cfg.URL, block.Hash, b.Hash)
	}
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
	if !b.named() || b.Transactions == nil { // else it would be one without a transaction of ours
		return chain.Block{}, nil, fmt.Errorf("%w: what %s says is block %v is none", chain.ErrAnswer, c.cfg.URL, name)
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
		index, err := c.index(&raw.tx)
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
