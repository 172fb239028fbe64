package evm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// Confirm implements chain.Chain. It asks this endpoint anew for all of it: for its final block, for the
// links from there down, for the blocks' transactions, and for the receipts of those that failed (W2).
func (c *Chain) Confirm(ctx context.Context, claims []chain.Claim) ([]chain.Opinion, error) {
	f, err := c.known(ctx)
	if err != nil {
		return nil, err
	}
	final, err := c.finalAnew(ctx, f)
	if err != nil {
		return nil, err
	}
	opinions := make([]chain.Opinion, len(claims))
	var open []int // positions of the claims about blocks that are final here
	for i, claim := range claims {
		opinions[i].By = c.cfg.URL
		if final.Hash == "" || final.Number < claim.Block.Number || (claim.By == c.cfg.URL || claim.By == "") && final.Number <= claim.At.Number {
			opinions[i].Why = fmt.Sprintf("its final block is %d", final.Number)
			continue
		}
		open = append(open, i)
	}
	if len(open) == 0 {
		return opinions, nil
	}
	return opinions, c.judgeClaims(ctx, f, final, claims, opinions, open)
}

// finalAnew asks for the final block, the zero Block if there is none yet.
func (c *Chain) finalAnew(ctx context.Context, f facts) (chain.Block, error) {
	head, final, err := c.tips(ctx, f)
	if err != nil {
		return chain.Block{}, err
	}
	height, is := c.finalHeight(head, final)
	switch {
	case !is:
		return chain.Block{}, nil
	case final != nil && uint64(final.Number) == height:
		return final.block(), nil
	case uint64(head.Number) == height:
		return head.block(), nil
	}
	b, err := c.blockAt(ctx, f, height)
	return b.block(), err
}

// judgeClaims fills in the opinions at the open positions.
func (c *Chain) judgeClaims(ctx context.Context, f facts, final chain.Block, claims []chain.Claim, opinions []chain.Opinion, open []int) error {
	blocks := make([]chain.Block, len(open))
	for n, i := range open {
		blocks[n] = claims[i].Block
	}
	linked, err := c.link(ctx, f, &c.witness, final, blocks)
	if errors.Is(err, chain.ErrThread) {
		for _, i := range open {
			opinions[i].Why = err.Error()
		}
		return nil
	}
	if err != nil {
		return err
	}
	var there []int
	for n, i := range open {
		if linked[n] {
			there = append(there, i)
			continue
		}
		opinions[i].Stand, opinions[i].Why = chain.Differs, fmt.Sprintf("it has another final block of height %d than %v", claims[i].Block.Number, claims[i].Block.Hash)
	}
	return c.judgeContents(ctx, claims, opinions, there)
}

// judgeContents compares claims with what the endpoint says is in their blocks.
func (c *Chain) judgeContents(ctx context.Context, claims []chain.Claim, opinions []chain.Opinion, there []int) error {
	contents, err := c.contents(ctx, claims, there)
	if err != nil {
		return err
	}
	var failed []int
	for _, i := range there {
		claim, listed := claims[i], contents[claims[i].Block.Hash]
		switch {
		case listed == nil:
			opinions[i].Why = fmt.Sprintf("it does not return block %v", claim.Block.Hash)
		case !slices.Contains(listed, common.BytesToHash([]byte(claim.Hash))):
			opinions[i].Stand, opinions[i].Why = chain.Differs, fmt.Sprintf("its block %v does not have the transaction", claim.Block.Hash)
		case claim.Failed:
			failed = append(failed, i)
		default:
			opinions[i].Stand = chain.Agrees
		}
	}
	in := make([]chain.Inclusion, len(failed))
	for n, i := range failed {
		in[n] = claims[i].Inclusion
	}
	receipts, err := c.receiptsOf(ctx, in)
	if err != nil {
		return err
	}
	for n, i := range failed {
		switch r := receipts[n]; {
		case r == nil || r.Status == nil || r.Block == nil || chain.Hash(r.Block[:]) != claims[i].Block.Hash:
			opinions[i].Why = "it has no receipt of the transaction in that block"
		case *r.Status != 0:
			opinions[i].Stand, opinions[i].Why = chain.Differs, "its receipt says that the transaction succeeded"
		default:
			opinions[i].Stand = chain.Agrees
		}
	}
	return nil
}

// contents reads the transactions' hashes of the claims' blocks, each block once.
func (c *Chain) contents(ctx context.Context, claims []chain.Claim, there []int) (map[chain.Hash][]common.Hash, error) {
	type list struct {
		Hash         hexutil.Bytes `json:"hash"`
		Transactions []common.Hash `json:"transactions"`
	}
	var hashes []chain.Hash
	for _, i := range there {
		if h := claims[i].Block.Hash; !slices.Contains(hashes, h) {
			hashes = append(hashes, h)
		}
	}
	lists := make([]*list, len(hashes))
	calls := make([]rpc.BatchElem, len(hashes))
	for i, h := range hashes {
		calls[i] = rpc.BatchElem{Method: "eth_getBlockByHash", Args: []any{h, false}, Result: &lists[i]}
	}
	if err := c.all(ctx, calls); err != nil {
		return nil, err
	}
	contents := map[chain.Hash][]common.Hash{}
	for i, l := range lists {
		if l != nil && chain.Hash(l.Hash) == hashes[i] && l.Transactions != nil {
			contents[hashes[i]] = l.Transactions
		}
	}
	return contents, nil
}
