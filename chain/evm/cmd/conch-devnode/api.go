package main

import (
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// devAPI is the namespace dev: methods that break the chain.
type devAPI struct {
	blocks *producer
}

// Mine makes count blocks, or one, of what is in the pool, and returns the last hash.
func (a *devAPI) Mine(count *hexutil.Uint64) (hash common.Hash, err error) {
	n := hexutil.Uint64(1)
	if count != nil {
		n = *count
	}
	for range n {
		if hash, err = a.blocks.mine(); err != nil {
			return hash, err
		}
	}
	return hash, nil
}

// Block makes a block of exactly these transactions.
func (a *devAPI) Block(raw []hexutil.Bytes) (common.Hash, error) {
	c, err := decode(raw)
	if err != nil {
		return common.Hash{}, err
	}
	a.blocks.mu.Lock()
	defer a.blocks.mu.Unlock()
	return a.blocks.extend(c)
}

// Reorg replaces the newest depth blocks by the given ones, which may be none.
func (a *devAPI) Reorg(depth hexutil.Uint64, raw *[][]hexutil.Bytes) (common.Hash, error) {
	var blocks []contents
	if raw != nil {
		for _, txs := range *raw {
			c, err := decode(txs)
			if err != nil {
				return common.Hash{}, err
			}
			blocks = append(blocks, c)
		}
	}
	return a.blocks.reorg(uint64(depth), blocks)
}

// Drop silently removes transactions, or all of them, from the pool and returns how many.
func (a *devAPI) Drop(hashes *[]common.Hash) (int, error) {
	a.blocks.mu.Lock()
	defer a.blocks.mu.Unlock()
	return a.blocks.refill(func(tx *types.Transaction) bool {
		return hashes != nil && len(*hashes) > 0 && !slices.Contains(*hashes, tx.Hash())
	})
}

// Finalize makes the present head final.
func (a *devAPI) Finalize() hexutil.Uint64 {
	a.blocks.mu.Lock()
	defer a.blocks.mu.Unlock()
	head := a.blocks.eth.BlockChain().CurrentBlock()
	a.blocks.eth.BlockChain().SetFinalized(head)
	return hexutil.Uint64(head.Number.Uint64())
}

// Burn makes full blocks of foreign transactions. With each the base fee rises by an eighth.
func (a *devAPI) Burn(count hexutil.Uint64) (hash common.Hash, err error) {
	a.blocks.mu.Lock()
	defer a.blocks.mu.Unlock()
	for range count {
		if hash, err = a.blocks.burn(); err != nil {
			return hash, err
		}
	}
	return hash, nil
}

// Fund gives an account gwei, by a block with a withdrawal and what is in the pool.
func (a *devAPI) Fund(account common.Address, gwei hexutil.Uint64) (common.Hash, error) {
	a.blocks.mu.Lock()
	defer a.blocks.mu.Unlock()
	return a.blocks.extend(contents{withdrawals: types.Withdrawals{{Address: account, Amount: uint64(gwei)}}})
}

func decode(raw []hexutil.Bytes) (contents, error) {
	c := contents{exactly: true}
	for i, r := range raw {
		tx := new(types.Transaction)
		if err := tx.UnmarshalBinary(r); err != nil {
			return contents{}, fmt.Errorf("transaction %d: %w", i, err)
		}
		c.txs = append(c.txs, tx)
	}
	return c, nil
}
