package evm

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// block is what is read of a block's header.
type block struct {
	Number hexutil.Uint64
	Hash   common.Hash
	Parent common.Hash    `json:"parentHash"`
	Gas    hexutil.Uint64 `json:"gasLimit"`
}

// block returns a block of the best chain by its number or by a name such as "latest".
func (r *Reader) block(ctx context.Context, number string) (block, error) {
	all, err := r.blocks(ctx, number)
	return all[0], err
}

// blocks returns blocks of the best chain as one endpoint has it: a request of several parts goes to one.
func (r *Reader) blocks(ctx context.Context, numbers ...string) ([]block, error) {
	batch, raw := make([]rpc.BatchElem, len(numbers)), make([]json.RawMessage, len(numbers))
	for i, number := range numbers {
		batch[i] = byNumber(number, &raw[i])
	}
	all, err := make([]block, len(numbers)), r.together(ctx, batch)
	for i := 0; i < len(numbers) && err == nil; i++ {
		if all[i], err = decodeBlock(raw[i], numbers[i]); numbers[i] == "latest" && all[i].Gas > 0 {
			r.blockGas.Store(uint64(all[i].Gas))
		}
	}
	return all, err
}

func byNumber(number string, into *json.RawMessage) rpc.BatchElem {
	return rpc.BatchElem{Method: "eth_getBlockByNumber", Args: []any{number, false}, Result: into}
}

// together makes one request of several parts, and fails if one of them does.
func (r *Reader) together(ctx context.Context, batch []rpc.BatchElem) error {
	if err := r.node.BatchCallContext(ctx, batch); err != nil {
		return err
	}
	for _, part := range batch {
		if part.Error != nil {
			return fmt.Errorf("%s: %w", part.Method, part.Error)
		}
	}
	return nil
}

func decodeBlock(raw json.RawMessage, number string) (b block, err error) {
	var found *block
	if err := json.Unmarshal(raw, &found); err != nil {
		return b, fmt.Errorf("%w: block %s: %w", errAnswer, number, err)
	}
	if found == nil || found.Hash == (common.Hash{}) {
		return b, fmt.Errorf("%w: no block %s", errAnswer, number)
	}
	if wanted, err := hexutil.DecodeUint64(number); err == nil && uint64(found.Number) != wanted {
		return b, fmt.Errorf("%w: block %d instead of %s", errAnswer, found.Number, number)
	}
	return *found, nil
}

// settled returns a block that is final. The endpoint that shows it shows also that it is: below the head of another
// one, its block with that number may be at the head of a branch that the others have left.
func (r *Reader) settled(ctx context.Context, number uint64) (block, error) {
	b, err := r.blocks(ctx, "latest", hexutil.EncodeUint64(number))
	if err != nil {
		return block{}, err
	}
	if head := uint64(b[0].Number); head-min(head, r.contract.Depth) < number {
		return block{}, fmt.Errorf("%w: it is at block %d, and block %d was final", errBehind, head, number)
	}
	return b[1], nil
}

// logs searches the log up to a block. The endpoint that answers has the block in its best chain before and
// afterwards: one that is behind, or on another branch, would show less, or what has never been.
func (r *Reader) logs(ctx context.Context, upTo block, query map[string]any) (logs []types.Log, err error) {
	query["address"] = r.address
	number := hexutil.EncodeUint64(uint64(upTo.Number))
	var raw [2]json.RawMessage
	err = r.together(ctx, []rpc.BatchElem{
		byNumber(number, &raw[0]), {Method: "eth_getLogs", Args: []any{query}, Result: &logs}, byNumber(number, &raw[1]),
	})
	for i := 0; i < len(raw) && err == nil; i++ {
		var b block
		if b, err = decodeBlock(raw[i], number); err == nil && b.Hash != upTo.Hash {
			err = fmt.Errorf("%w: block %d was replaced while it was read", errAnswer, upTo.Number)
		}
	}
	return logs, err
}

// at names a block for a call: by its hash, and only while it is in the best chain.
func (b block) at() any { return map[string]any{"blockHash": b.Hash, "requireCanonical": true} }
