package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/miner"
)

// producer makes blocks, one at a time.
type producer struct {
	eth      *eth.Ethereum
	finality uint64
	burner   burner

	mu sync.Mutex
}

// contents are the contents of a block to make.
type contents struct {
	txs         []*types.Transaction
	exactly     bool // the block has txs alone, even none; else what is in the pool
	withdrawals types.Withdrawals
}

// mine makes a block of all executable transactions in the pool.
func (p *producer) mine() (common.Hash, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.promote(); err != nil {
		return common.Hash{}, err
	}
	return p.extend(contents{})
}

// tick makes a block of the transactions that the pool has ready, without promote.
func (p *producer) tick() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.extend(contents{})
	return err
}

// extend adds a block to the head.
func (p *producer) extend(c contents) (common.Hash, error) {
	b, err := p.build(p.eth.BlockChain().CurrentBlock(), c)
	if err != nil {
		return common.Hash{}, err
	}
	return b.Hash(), p.setHead(b)
}

// burn adds a full block without transactions from the pool.
func (p *producer) burn() (common.Hash, error) {
	head := p.eth.BlockChain().CurrentBlock()
	state, err := p.eth.BlockChain().StateAt(head.Root, head.Number, head.Time)
	if err != nil {
		return common.Hash{}, err
	}
	price := new(big.Int).Mul(head.BaseFee, big.NewInt(2))
	txs, err := p.burner.fill(head.GasLimit, state.GetNonce(p.burner.address()), price)
	if err != nil {
		return common.Hash{}, err
	}
	return p.extend(contents{txs: txs, exactly: true})
}

// build makes a block on any parent and stores it, without making it the head.
func (p *producer) build(parent *types.Header, c contents) (*types.Block, error) {
	// Without unique data, blocks of one parent, second and contents would be one block.
	unique := make([]byte, 8)
	if _, err := rand.Read(unique); err != nil {
		return nil, err
	}
	block, _, err := p.eth.Miner().BuildTestingPayload(&miner.BuildPayloadArgs{
		Parent: parent.Hash(), Timestamp: max(parent.Time+1, uint64(time.Now().Unix())),
		Withdrawals: c.withdrawals, BeaconRoot: &common.Hash{},
	}, c.txs, c.exactly && len(c.txs) == 0, unique)
	if err != nil {
		return nil, fmt.Errorf("build block %d: %w", parent.Number.Uint64()+1, err)
	}
	if _, err := p.eth.BlockChain().InsertBlockWithoutSetHead(context.Background(), block, false); err != nil {
		return nil, fmt.Errorf("insert block %d: %w", block.NumberU64(), err)
	}
	return block, nil
}

// setHead makes any stored block the head, and syncs the pool with it.
func (p *producer) setHead(b *types.Block) error {
	chain := p.eth.BlockChain()
	if _, err := chain.SetCanonical(b); err != nil {
		return fmt.Errorf("make block %d the head: %w", b.NumberU64(), err)
	}
	final := chain.CurrentFinalBlock()
	if final != nil && chain.GetCanonicalHash(final.Number.Uint64()) != final.Hash() {
		final = nil // the final block was reverted too
		chain.SetFinalized(nil)
	}
	if p.finality > 0 && b.NumberU64() >= p.finality {
		at := chain.GetHeaderByNumber(b.NumberU64() - p.finality)
		if at != nil && (final == nil || at.Number.Cmp(final.Number) > 0) {
			chain.SetFinalized(at)
		}
	}
	// The first Sync may end before the pool has read the new head.
	return errors.Join(p.eth.TxPool().Sync(), p.eth.TxPool().Sync())
}

// reorg replaces the newest depth blocks.
func (p *producer) reorg(depth uint64, blocks []contents) (common.Hash, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	chain := p.eth.BlockChain()
	head := chain.CurrentBlock().Number.Uint64()
	if depth > head {
		return common.Hash{}, fmt.Errorf("only %d blocks can be replaced", head)
	}
	tip := chain.GetBlockByNumber(head - depth)
	if tip == nil {
		return common.Hash{}, errors.New("the block to go back to is gone")
	}
	for _, c := range blocks {
		next, err := p.build(tip.Header(), c)
		if err != nil {
			return common.Hash{}, err
		}
		tip = next
	}
	return tip.Hash(), p.setHead(tip)
}
