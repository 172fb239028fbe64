package evm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// byTag reports whether the chain says which blocks are final, and not the configuration.
func (c *Chain) byTag() bool { return c.cfg.Depth == 0 && !c.cfg.Instant }

// tips reads the head and, if the chain names it, the final block, which is nil while there is none.
func (c *Chain) tips(ctx context.Context, f facts) (head, final *header, err error) {
	calls := []rpc.BatchElem{f.blockCall("latest", &head)}
	if c.byTag() {
		calls = append(calls, f.blockCall("finalized", &final))
	}
	if err := c.batch(ctx, calls); err != nil {
		return nil, nil, err
	}
	if err := calls[0].Error; err != nil {
		return nil, nil, c.endpoint.fail(calls[0].Method, err)
	}
	if err := c.checkBlock(head); err != nil {
		return nil, nil, err
	}
	if _, err := c.checkNumber("head number", head.Number); err != nil {
		return nil, nil, err
	}
	if !final.valid() {
		final = nil // an error or nothing, for this look: it may be a backend that has no final block yet
	}
	return head, final, nil
}

// finalHeight returns the height of the last final block, given the head and the block that the chain
// calls final; false if there is none yet.
func (c *Chain) finalHeight(head, final *header) (uint64, bool) {
	depth := c.cfg.Depth
	if c.byTag() {
		if depth = c.cfg.MinDepth; final == nil {
			return 0, false
		}
	}
	if uint64(head.Number) < depth {
		return 0, false
	}
	height := uint64(head.Number) - depth
	if c.byTag() {
		height = min(height, uint64(final.Number))
	}
	return height, true
}

// finalityTries is how often an endpoint is asked before an error of it means that it has no tag "finalized": a single
// one may be a backend's trouble of the moment.
const finalityTries = 3

// checkFinality refuses an endpoint whose word on final blocks cannot be used (W1).
func (c *Chain) checkFinality(ctx context.Context, f facts) (fault error) {
	if !c.byTag() {
		return nil
	}
	for range finalityTries {
		if fault = c.checkTag(ctx, f); !errors.Is(fault, errTag) {
			return fault
		}
	}
	return fault
}

// errTag means that the endpoint answers the question for its final block by an error.
var errTag = errors.New(`it has no tag "finalized"`)

func (c *Chain) checkTag(ctx context.Context, f facts) error {
	var head, final *header
	calls := []rpc.BatchElem{f.blockCall("latest", &head), f.blockCall("finalized", &final)}
	if err := c.batch(ctx, calls); err != nil {
		return err
	}
	switch err := calls[1].Error; {
	case throttled(err) || silent(err):
		return c.endpoint.fail(calls[1].Method, err)
	case err != nil && !strings.Contains(strings.ToLower(err.Error()), "not found"): // some answer so while no block is final yet
		return fmt.Errorf("%w: %s: %w: %w; say in the configuration how many blocks below the head a block is final", chain.ErrFinality, c.cfg.URL, errTag, err)
	case final.valid() && head.valid() && final.Number > 0 && final.block().Hash == head.block().Hash:
		return fmt.Errorf("%w: %s calls its head, block %d, final; say in the configuration how many blocks below the head a block is final, or that it is final at once",
			chain.ErrFinality, c.cfg.URL, uint64(head.Number))
	}
	return nil
}

// blockAt asks for a block by its height. It returns nil if the endpoint does not return that block.
func (c *Chain) blockAt(ctx context.Context, f facts, height uint64) (*header, error) {
	var b *header
	calls := []rpc.BatchElem{f.blockCall(hexutil.EncodeUint64(height), &b)}
	if err := c.batch(ctx, calls); err != nil {
		return nil, err
	}
	if !b.valid() || uint64(b.Number) != height {
		return nil, nil //nolint:nilnil // as documented
	}
	return b, nil
}
