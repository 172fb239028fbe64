package evm

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/internal/budget"
)

// Probe implements chain.Chain. A node that came back with an older head may still name a block
// that is not in its chain, from a stale index of transactions. Such a transaction is nowhere.
func (c *Chain) Probe(ctx context.Context, hashes []chain.Hash) ([]chain.Sighting, error) {
	ctx = budget.Urgently(ctx, budget.Looks)
	f, err := c.known(ctx)
	if err != nil {
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
	canonical := map[uint64]chain.Hash{} // of the best chain, by height
	for i, p := range places {
		switch {
		case p == nil:
		case p.Block == nil || p.Number == nil:
			seen[i].Pooled = true
		default:
			number, err := c.checkNumber("block number", *p.Number)
			if err != nil {
				return nil, err
			}
			seen[i] = chain.Sighting{Block: chain.Block{Number: number, Hash: chain.Hash(*p.Block)}}
			canonical[number] = ""
		}
	}
	if err := c.fillCanonical(ctx, f, canonical); err != nil {
		return nil, err
	}
	for i, s := range seen {
		if s.Included() && canonical[s.Block.Number] != s.Block.Hash {
			seen[i] = chain.Sighting{}
		}
	}
	if err := c.fillFailedSightings(ctx, hashes, seen); err != nil {
		return nil, err
	}
	return seen, nil
}

// fillFailedSightings fills in which of the included transactions failed. Only a receipt of that
// block says so. A receipt of another block is an error: the chain has changed meanwhile.
func (c *Chain) fillFailedSightings(ctx context.Context, hashes []chain.Hash, seen []chain.Sighting) error {
	var at []int
	var in []chain.Inclusion
	for i, s := range seen {
		if s.Included() {
			at, in = append(at, i), append(in, chain.Inclusion{Hash: hashes[i]})
		}
	}
	receipts, err := c.receiptsOf(ctx, in)
	if err != nil {
		return err
	}
	for i, r := range receipts {
		s := &seen[at[i]]
		if r == nil || r.Status == nil || r.Block == nil || chain.Hash(r.Block[:]) != s.Block.Hash {
			return fmt.Errorf("%w: the receipt of %v, though it is in block %v", chain.ErrNotFound, in[i].Hash, s.Block.Hash)
		}
		s.Effect = chain.EffectOf(*r.Status == 0)
	}
	return nil
}

// fillCanonical fills in the hashes of the best chain's blocks, and none above the head. A node that is
// not ready answers null; believed below the head, it would make transactions leave the chain.
func (c *Chain) fillCanonical(ctx context.Context, f facts, hashes map[uint64]chain.Hash) error {
	heights := slices.Sorted(maps.Keys(hashes))
	headers := make([]*header, len(heights))
	calls := make([]rpc.BatchElem, len(heights))
	for i, n := range heights {
		calls[i] = f.blockCall(hexutil.EncodeUint64(n), &headers[i])
	}
	if err := c.all(ctx, calls); err != nil {
		return err
	}
	above := uint64(math.MaxUint64) // the lowest height that the chain should not reach
	for i, n := range heights {
		if hashes[n] = headers[i].block().Hash; headers[i] == nil {
			above = min(above, n)
		} else if !headers[i].valid() || uint64(headers[i].Number) != n {
			return fmt.Errorf("%w: asked for block %d, %s returns something else", chain.ErrAnswer, n, c.cfg.URL)
		}
	}
	if above == math.MaxUint64 {
		return nil
	}
	var head *header
	if err := c.all(ctx, []rpc.BatchElem{f.blockCall("latest", &head)}); err != nil {
		return err
	}
	if err := c.checkBlock(head); err != nil {
		return err
	}
	if uint64(head.Number) >= above {
		return fmt.Errorf("%w: %s does not return block %d, although its head is block %d", chain.ErrUnreachable, c.cfg.URL, above, uint64(head.Number))
	}
	return nil
}
