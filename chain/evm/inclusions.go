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
	"github.com/conchhq/conch/chain/evm/internal/budget"
)

// transaction holds the only fields of a transaction in a block that are read. The whole is decoded
// only if the node names no sender, since go-ethereum cannot decode some chains' types.
type transaction struct {
	Hash  common.Hash     `json:"hash"`
	From  *common.Address `json:"from"`
	Nonce *hexutil.Uint64 `json:"nonce"`
}

// Inclusions implements chain.Chain. While attempts that this process has submitted are expected in a
// block, it reads the block's receipts: they name each sender, and only the nonces of transactions
// that were not submitted here are fetched. After a block that had submitted attempts alone it first
// tries binary receipts, which cost less and name no sender. Otherwise, and if the receipts do not
// tell all, it reads all transactions, and receipts only if an account has one.
func (c *Chain) Inclusions(ctx context.Context, block chain.Block, accounts []chain.Account) ([]chain.Inclusion, error) {
	ctx = budget.Urgently(ctx, budget.Blocks)
	if _, err := c.known(ctx); err != nil { // proves that the endpoint serves our chain
		return nil, err
	}
	if c.submitted.any() {
		if found, complete, err := c.readBinaryReceipts(ctx, block, accounts); complete || err != nil {
			return found, err
		}
		if found, complete, err := c.readReceipts(ctx, block, accounts); complete || err != nil {
			return found, err
		}
	}
	b, found, err := c.readTransactions(ctx, "eth_getBlockByHash", block.Hash, accounts)
	if err == nil && (b.Hash != block.Hash || b.Number != block.Number) {
		err = fmt.Errorf("%w: asked for block %d, %v, %s returns block %d, %v", chain.ErrAnswer, block.Number, block.Hash, c.cfg.URL, b.Number, b.Hash)
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if err := c.fillFailed(ctx, block.Hash, found); err != nil {
		return nil, err
	}
	for i := range found {
		found[i].Block = block
		c.submitted.take(found[i].Hash) // in a block: no longer expected
	}
	return found, nil
}

// readTransactions reads a block with its transactions, and returns those of the accounts, Failed not
// filled in. name is the block's hash or number, as the method takes it.
func (c *Chain) readTransactions(ctx context.Context, method string, name any, accounts []chain.Account) (chain.Block, []chain.Inclusion, error) {
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
	if !b.valid() || b.Transactions == nil { // a missing list must not be taken for an empty one
		return chain.Block{}, nil, fmt.Errorf("%w: asked for block %v, %s returns what is not a block", chain.ErrAnswer, name, c.cfg.URL)
	}
	if _, err := c.checkNumber("block number", b.Number); err != nil {
		return chain.Block{}, nil, err
	}
	var found []chain.Inclusion
	block := b.block()
	for _, raw := range b.Transactions {
		from, err := raw.sender()
		if err != nil {
			return chain.Block{}, nil, fmt.Errorf("block %v: %w", name, err)
		}
		sender := chain.Account(from[:])
		if !slices.Contains(accounts, sender) {
			continue
		}
		index, err := c.index(&raw.tx)
		if err != nil {
			return chain.Block{}, nil, err
		}
		found = append(found, chain.Inclusion{Account: sender, Index: index, Hash: chain.Hash(raw.tx.Hash[:]), Block: block})
	}
	return block, found, nil
}

// rawTransaction is a transaction of a block's list, with its JSON if the sender must be recovered.
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

// sender returns the sender that the node names, or else recovers the signer.
func (r rawTransaction) sender() (common.Address, error) {
	if r.tx.From != nil {
		return *r.tx.From, nil
	}
	var tx types.Transaction
	if err := tx.UnmarshalJSON(r.text); err != nil {
		return common.Address{}, fmt.Errorf("recover the sender of a transaction: %w", err)
	}
	return types.Sender(types.LatestSignerForChainID(tx.ChainId()), &tx)
}
