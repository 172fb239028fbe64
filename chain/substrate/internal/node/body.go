package node

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/crypto/blake2b"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/internal/rpc"
	"github.com/conchhq/conch/chain/substrate/internal/trie"
)

// Body is what a block consists of, proven by the root in its header.
type Body struct {
	Header
	Extrinsics [][]byte
}

// HashOf returns the hash of an extrinsic, which is not unique in a chain: after a life has ended the same bytes may be in a block once
// more.
func HashOf(extrinsic []byte) chain.Hash {
	sum := blake2b.Sum256(extrinsic)
	return chain.Hash(sum[:])
}

// Body reads a block. The error wraps chain.ErrNotFound if the endpoint does not have it, and chain.ErrAnswer if what it returns is
// not this block's body: then nothing may be concluded from it (Z11).
func (v *View) Body(ctx context.Context, hash chain.Hash) (Body, error) {
	var block *struct {
		Block struct {
			Extrinsics []Bytes `json:"extrinsics"`
		} `json:"block"`
	}
	h, err := v.Header(ctx, hash)
	if errors.Is(err, chain.ErrThread) {
		return Body{}, fmt.Errorf("%w: %w", chain.ErrNotFound, err)
	}
	if err == nil {
		err = v.client.Call(ctx, &block, "chain_getBlock", Bytes(hash))
	}
	if said, spoken := rpc.Answered(err); spoken && isGone(said) || err == nil && block == nil {
		return Body{}, fmt.Errorf("%w: %s does not have the body of block %v", chain.ErrNotFound, v, hash)
	}
	if err != nil {
		return Body{}, err
	}
	body := Body{Header: h, Extrinsics: make([][]byte, len(block.Block.Extrinsics))}
	for i, one := range block.Block.Extrinsics {
		body.Extrinsics[i] = one
	}
	// The layout depends on the version of the runtime. Either proves: nobody finds another list with this root.
	if !v.cfg.Unproven && trie.OrderedRoot(trie.V0, body.Extrinsics) != h.Root && trie.OrderedRoot(trie.V1, body.Extrinsics) != h.Root {
		return Body{}, fmt.Errorf("%w: the body that %s returns for block %d, %v, does not fit the root in its header", chain.ErrAnswer, v, h.Number, hash)
	}
	return body, nil
}

// Storage reads values in the state after a block, nil for each that is not there. The error wraps ErrStateGone if the endpoint keeps that
// state no longer.
func (v *View) Storage(ctx context.Context, at chain.Hash, keys ...[]byte) ([][]byte, error) {
	wire := make([]*Bytes, len(keys))
	calls := make([]rpc.Request, len(keys))
	for i, key := range keys {
		calls[i] = rpc.Request{Method: "state_getStorage", Args: []any{Bytes(key), Bytes(at)}, Result: &wire[i]}
	}
	if err := v.all(ctx, calls); err != nil {
		return nil, v.stateGone(at, err)
	}
	values := make([][]byte, len(keys))
	for i, one := range wire {
		if one != nil {
			values[i] = append([]byte{}, *one...)
		}
	}
	return values, nil
}

// Execute calls a function of the runtime on the state after a block, and changes nothing. The error is as that of Storage.
func (v *View) Execute(ctx context.Context, at chain.Hash, function string, args []byte) ([]byte, error) {
	var out Bytes
	if err := v.client.Call(ctx, &out, "state_call", function, Bytes(args), Bytes(at)); err != nil {
		return nil, v.stateGone(at, err)
	}
	return out, nil
}
