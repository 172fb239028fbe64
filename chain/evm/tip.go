package evm

import (
	"context"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// tipSource is where a suggested tip comes from: the first of these that the endpoint has.
type tipSource uint8

const (
	tipSuggested tipSource = iota
	tipHistory             // what half of the gas of the last blocks paid
	tipPrice               // the price that the endpoint suggests, less the base fee
	tipUnknown             // nothing: the lowest tip that is configured
)

const (
	tipBlocks = 10
	tipHalf   = 50 // percent of a block's gas
)

// tipAnswer takes the answer to a call for a tip.
type tipAnswer struct {
	price   hexutil.Big // a tip or a price
	history feeHistory
}

// feeHistory is the answer to eth_feeHistory, with one reward for each block.
type feeHistory struct {
	Reward [][]*hexutil.Big `json:"reward"`
	Used   []float64        `json:"gasUsedRatio"`
}

// call returns the call for a tip.
func (s tipSource) call(into *tipAnswer) rpc.BatchElem {
	switch s {
	case tipHistory:
		return rpc.BatchElem{Method: "eth_feeHistory", Args: []any{hexutil.Uint(tipBlocks), "latest", []int{tipHalf}}, Result: &into.history}
	case tipPrice:
		return rpc.BatchElem{Method: "eth_gasPrice", Result: &into.price}
	case tipSuggested, tipUnknown:
	}
	return rpc.BatchElem{Method: "eth_maxPriorityFeePerGas", Result: &into.price}
}

// read reads the answer. A price below the base fee leaves no tip.
func (s tipSource) read(answer *tipAnswer, base *big.Int) *big.Int {
	tip := new(big.Int)
	switch s {
	case tipSuggested:
		tip.Set(answer.price.ToInt())
	case tipHistory:
		tip.Set(answer.history.tip())
	case tipPrice:
		tip.Sub(answer.price.ToInt(), base)
	case tipUnknown:
	}
	if tip.Sign() < 0 {
		tip.SetUint64(0)
	}
	return tip
}

// tip returns the median of what the blocks with transactions were paid.
func (h feeHistory) tip() *big.Int {
	var paid []*big.Int
	for i, rewards := range h.Reward {
		if len(rewards) == 0 || rewards[0] == nil || i < len(h.Used) && h.Used[i] == 0 {
			continue
		}
		paid = append(paid, rewards[0].ToInt())
	}
	if len(paid) == 0 {
		return new(big.Int)
	}
	slices.SortFunc(paid, (*big.Int).Cmp)
	return paid[len(paid)/2]
}

// learnTips finds out which call for a tip the endpoint answers, each asked alone.
func (c *Chain) learnTips(ctx context.Context) (tipSource, error) {
	for source := range tipUnknown {
		var answer tipAnswer
		call := []rpc.BatchElem{source.call(&answer)}
		err := c.endpoint.batch(ctx, call)
		if err != nil && ctx.Err() != nil {
			return source, err
		}
		empty := source == tipHistory && err == nil && call[0].Error == nil && len(answer.history.Reward) == 0
		if !isMissing(err) && !isMissing(call[0].Error) && !empty {
			return source, nil
		}
	}
	return tipUnknown, nil
}
