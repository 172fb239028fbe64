package evm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/internal/budget"
)

// Confirm implements chain.Chain. It asks this endpoint anew for all of it: for its head and final block, for
// the links from the head down, for the blocks' transactions, and for their receipts, which say whether a call has
// failed (W2).
// About a nonce alone it asks for the count as of the claim's block, by its hash (W14).
func (c *Chain) Confirm(ctx context.Context, claims []chain.Claim) ([]chain.Opinion, error) {
	ctx = budget.Urgently(ctx, budget.Looks)
	f, err := c.known(ctx)
	if err != nil {
		return nil, err
	}
	head, final, err := c.tips(ctx, f)
	if err != nil {
		return nil, err
	}
	height, is := c.finalHeight(head, final)
	opinions := make([]chain.Opinion, len(claims))
	var open, nonces []int // positions of the claims about blocks that are final here, and about a nonce alone
	for i, claim := range claims {
		opinions[i].By = c.cfg.URL
		if !is || !claim.Counts && height < claim.Block.Number || (claim.By == c.cfg.URL || claim.By == "") && !claim.Passed(height) {
			opinions[i].Why = fmt.Sprintf("its final block is %d", height)
			if !is {
				opinions[i].Why = "it has no final block yet"
			}
			continue
		}
		if claim.Counts {
			nonces = append(nonces, i)
		} else {
			open = append(open, i)
		}
	}
	c.judgeCounts(ctx, claims, opinions, nonces)
	if err := ctx.Err(); err != nil || len(open) == 0 {
		return opinions, err
	}
	return opinions, c.judgeClaims(ctx, f, tip{head.block(), final.block()}, claims, opinions, open)
}

// judgeCounts fills in the opinions about nonces that count as used in the state after a block. An endpoint that
// does not take the question is mute, and goes on judging other claims.
func (c *Chain) judgeCounts(ctx context.Context, claims []chain.Claim, opinions []chain.Opinion, nonces []int) {
	counts := make([]json.RawMessage, len(nonces))
	calls := make([]rpc.BatchElem, len(nonces))
	for n, i := range nonces {
		as := map[string]any{"blockHash": claims[i].Block.Hash} // EIP-1898
		calls[n] = rpc.BatchElem{Method: "eth_getTransactionCount", Args: []any{claims[i].Account, as}, Result: &counts[n]}
	}
	if len(calls) == 0 {
		return
	}
	err := c.batch(ctx, calls)
	for n, i := range nonces {
		var count hexutil.Uint64
		switch {
		case err != nil:
			opinions[i].Why = "it gave no count as of the block's hash: " + err.Error()
		case calls[n].Error != nil:
			opinions[i].Why = "it gave no count as of the block's hash: " + c.endpoint.fail(calls[n].Method, calls[n].Error).Error()
		case json.Unmarshal(counts[n], &count) != nil:
			opinions[i].Why = "its count as of a block's hash is no number"
		case uint64(count) > claims[i].Index:
			opinions[i].Stand = chain.Agrees
		default:
			opinions[i].Stand, opinions[i].Why = chain.Differs, fmt.Sprintf("it counts %d as of block %v", uint64(count), claims[i].Block.Hash)
		}
	}
}

// tip is a head and the block that the chain calls final, the zero Block if finality is configured. Two
// backends may have named them.
type tip struct {
	head, final chain.Block
}

// judgeClaims fills in the opinions at the open positions. It links from the head, since the final block's
// height is counted from there: a final block that is no ancestor of the head proves nothing (W1).
func (c *Chain) judgeClaims(ctx context.Context, f facts, t tip, claims []chain.Claim, opinions []chain.Opinion, open []int) error {
	blocks := make([]chain.Block, len(open), len(open)+1)
	for n, i := range open {
		blocks[n] = claims[i].Block
	}
	if t.final.Hash != "" {
		blocks = append(blocks, t.final)
	}
	linked, err := c.link(ctx, f, &c.witness, t.head, blocks)
	if err == nil && t.final.Hash != "" && !linked[len(open)] {
		err = fmt.Errorf("%w: its final block %v is no ancestor of its head", chain.ErrThread, t.final.Hash)
	}
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
	var named []int
	for _, i := range there {
		claim, listed := claims[i], contents[claims[i].Block.Hash]
		switch {
		case claim.Hash == "": // that the block is final is all that it says
			opinions[i].Stand = chain.Agrees
		case listed == nil:
			opinions[i].Why = fmt.Sprintf("it does not return block %v", claim.Block.Hash)
		case !listed[claim.Hash]:
			opinions[i].Stand, opinions[i].Why = chain.Differs, fmt.Sprintf("its block %v does not have the transaction", claim.Block.Hash)
		default:
			named = append(named, i)
		}
	}
	return c.judgeEffects(ctx, claims, opinions, named)
}

// judgeEffects compares what claims say of their calls' effects with the endpoint's own receipts: also of calls that did not
// fail, or one endpoint alone would decide that.
func (c *Chain) judgeEffects(ctx context.Context, claims []chain.Claim, opinions []chain.Opinion, named []int) error {
	in := make([]chain.Inclusion, len(named))
	for n, i := range named {
		in[n] = claims[i].Inclusion
	}
	receipts, err := c.receiptsIn(ctx, in)
	if err != nil {
		return err
	}
	for n, i := range named {
		switch r := receipts[n]; {
		case r == nil:
			opinions[i].Why = "it has no receipt of the transaction in that block"
		case claims[i].Effect.Kind == chain.EffectUnknown, (*r.Status == 0) == claims[i].Effect.Failed():
			opinions[i].Stand = chain.Agrees
		case claims[i].Effect.Failed():
			opinions[i].Stand, opinions[i].Why = chain.Differs, "its receipt says that the call did not fail"
		default:
			opinions[i].Stand, opinions[i].Why = chain.Differs, "its receipt says that the call failed"
		}
	}
	return nil
}

// contents reads the transactions' hashes of the claims' blocks, each block once. A block that the endpoint does not
// return has none.
func (c *Chain) contents(ctx context.Context, claims []chain.Claim, there []int) (map[chain.Hash]map[chain.Hash]bool, error) {
	type list struct {
		Hash         hexutil.Bytes `json:"hash"`
		Transactions []common.Hash `json:"transactions"`
	}
	var hashes []chain.Hash
	contents := map[chain.Hash]map[chain.Hash]bool{}
	for _, i := range there {
		h := claims[i].Block.Hash
		if _, asked := contents[h]; claims[i].Hash != "" && !asked {
			hashes, contents[h] = append(hashes, h), nil
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
	for i, l := range lists {
		if l == nil || chain.Hash(l.Hash) != hashes[i] || l.Transactions == nil {
			continue
		}
		listed := make(map[chain.Hash]bool, len(l.Transactions))
		for _, h := range l.Transactions {
			listed[chain.Hash(h[:])] = true
		}
		contents[hashes[i]] = listed
	}
	return contents, nil
}
