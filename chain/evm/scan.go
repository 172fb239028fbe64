package evm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/internal/budget"
)

// Scan implements chain.Chain. It reads whole blocks by their hashes, since no state may be asked for at
// a height: most nodes have dropped it.
func (c *Chain) Scan(ctx context.Context, of chain.Block, a chain.Account, from uint64, most int) (found []chain.Inclusion, next uint64, err error) {
	ctx = budget.Urgently(ctx, budget.Search)
	line, err := c.line(ctx, of, from, most)
	if err != nil {
		return nil, 0, err
	}
	next = from
	for _, at := range line {
		next = at.Number
		b, ours, err := c.readTransactions(ctx, "eth_getBlockByHash", at.Hash, []chain.Account{a})
		if errors.Is(err, chain.ErrNotFound) { // a backend is behind: that does not say who used the slot
			err = fmt.Errorf("%w: %s does not return block %d, %v", chain.ErrUnreachable, c.cfg.URL, next, at.Hash)
		}
		if err == nil && b.Hash != at.Hash {
			err = fmt.Errorf("%w: asked for block %v, %s returns block %v", chain.ErrAnswer, at.Hash, c.cfg.URL, b.Hash)
		}
		if err == nil && len(ours) > 0 {
			err = c.fillFailed(ctx, b.Hash, ours)
		}
		if err != nil {
			return found, next, keepScanned(err, next > from)
		}
		found = append(found, ours...)
		next++
	}
	return found, next, nil
}

// line returns at most so many blocks from a height on that are the block of or ancestors of it.
func (c *Chain) line(ctx context.Context, of chain.Block, from uint64, most int) (line []chain.Block, err error) {
	f, err := c.known(ctx)
	if err != nil || from > of.Number {
		return nil, err
	}
	top, err := c.top(ctx, of.Hash)
	if err != nil {
		return nil, err
	}
	thread, err := c.lengthen(ctx, f, &c.followed, top, from)
	if err != nil {
		return nil, err
	}
	for n := from; n < from+uint64(most) && n <= of.Number; n++ {
		b, has := thread.At(n)
		if !has {
			return nil, fmt.Errorf("%w: block %d is not known", chain.ErrThread, n)
		}
		line = append(line, b)
	}
	return line, nil
}

// keepScanned drops an error after some blocks were read: the caller goes on at the one that failed, so
// that an endpoint which fails now and then is read to the end (W13).
func keepScanned(err error, some bool) error {
	if some {
		return nil
	}
	return err
}

// Prove implements chain.Chain. It computes the hash, and recovers the sender from the signature (W3). Nodes find it by its hash.
func (c *Chain) Prove(ctx context.Context, in chain.Inclusion) (chain.Draft, error) {
	hash := in.Hash
	ctx = budget.Urgently(ctx, budget.Looks)
	if _, err := c.known(ctx); err != nil {
		return chain.Draft{}, err
	}
	var raw json.RawMessage
	if err := c.all(ctx, []rpc.BatchElem{{Method: "eth_getTransactionByHash", Args: []any{hash}, Result: &raw}}); err != nil {
		return chain.Draft{}, err
	}
	if len(raw) == 0 || string(raw) == "null" {
		return chain.Draft{}, fmt.Errorf("%w: %s does not return transaction %v", chain.ErrNotFound, c.cfg.URL, hash)
	}
	var tx types.Transaction
	if err := json.Unmarshal(raw, &tx); err != nil {
		return chain.Draft{}, fmt.Errorf("%w: %s returns transaction %v, which cannot be decoded: %w", chain.ErrUnproven, c.cfg.URL, hash, err)
	}
	if computed := tx.Hash(); chain.Hash(computed[:]) != hash {
		return chain.Draft{}, fmt.Errorf("%w: asked for transaction %v, %s returns one whose hash is %v", chain.ErrUnproven, hash, c.cfg.URL, computed)
	}
	if tx.Protected() && tx.ChainId().Cmp(new(big.Int).SetUint64(c.cfg.ChainID)) != 0 {
		return chain.Draft{}, fmt.Errorf("%w: transaction %v is signed for chain %v", chain.ErrUnproven, hash, tx.ChainId())
	}
	sender, err := types.Sender(types.LatestSignerForChainID(tx.ChainId()), &tx)
	if err != nil {
		return chain.Draft{}, fmt.Errorf("%w: nobody's signature is on transaction %v: %w", chain.ErrUnproven, hash, err)
	}
	p := chain.Draft{Account: chain.Account(sender[:]), Index: tx.Nonce(), Call: chain.Call{Value: tx.Value(), Data: tx.Data(), Gas: tx.Gas()}}
	if to := tx.To(); to != nil {
		p.Call.To = to[:]
	}
	return p, nil
}
