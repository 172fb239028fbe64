package evm

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pause"
)

// wholeReceipt is a receipt with all that is shown of it. Chains that keep their data on another one name what that costs (l1Fee).
type wholeReceipt struct {
	receipt
	Number   *hexutil.Uint64 `json:"blockNumber"`
	GasUsed  *hexutil.Uint64 `json:"gasUsed"`
	GasPrice *hexutil.Big    `json:"effectiveGasPrice"`
	DataFee  *hexutil.Big    `json:"l1Fee"`
	Created  *common.Address `json:"contractAddress"`
	Logs     []struct {
		Address common.Address `json:"address"`
		Topics  []common.Hash  `json:"topics"`
		Data    hexutil.Bytes  `json:"data"`
	} `json:"logs"`
}

// Receipt implements chain.Chain. Nothing of the chain's head or of a leader waits for it: it has the least urgency.
func (c *Chain) Receipt(ctx context.Context, in chain.Inclusion) (chain.Receipt, error) {
	if _, err := c.known(ctx); err != nil {
		return chain.Receipt{}, err
	}
	var raw json.RawMessage
	for try := range maxTries { // some of the backends may lack the block
		if try > 0 && pause.For(ctx, time.Duration(try)*10*time.Millisecond) != nil {
			break
		}
		if err := c.all(ctx, []rpc.BatchElem{{Method: "eth_getTransactionReceipt", Args: []any{in.Hash}, Result: &raw}}); err != nil {
			return chain.Receipt{}, err
		}
		if len(raw) > 0 && string(raw) != "null" {
			return c.readReceipt(raw, in)
		}
	}
	return chain.Receipt{}, fmt.Errorf("%w: %s has no receipt of %v", chain.ErrNotFound, c.cfg.URL, in.Hash)
}

// readReceipt reads an endpoint's answer about a transaction in a block. What is missing is not taken for 0 or none.
func (c *Chain) readReceipt(raw []byte, in chain.Inclusion) (out chain.Receipt, err error) {
	var r wholeReceipt
	if err := json.Unmarshal(raw, &r); err != nil {
		return out, fmt.Errorf("%w: the receipt of %v that %s returns cannot be read: %w", chain.ErrAnswer, in.Hash, c.cfg.URL, err)
	}
	switch {
	case r.Block == nil || r.Number == nil || r.From == nil || r.Status == nil || r.GasUsed == nil || r.GasPrice == nil || r.Logs == nil:
		return out, fmt.Errorf("%w: the receipt of %v that %s returns is not complete", chain.ErrAnswer, in.Hash, c.cfg.URL)
	case chain.Hash(r.Hash[:]) != in.Hash || chain.Account(r.From[:]) != in.Account:
		return out, fmt.Errorf("%w: asked for the receipt of %v, %s returns that of %v", chain.ErrAnswer, in.Hash, c.cfg.URL, r.Hash)
	case chain.Hash(r.Block[:]) != in.Block.Hash || uint64(*r.Number) != in.Block.Number:
		return out, fmt.Errorf("%w: %s has transaction %v in block %d, %v, and not in %v", chain.ErrNotFound, c.cfg.URL, in.Hash, uint64(*r.Number), r.Block, in.Block.Hash)
	case chain.EffectOf(*r.Status == 0) != in.Effect:
		return out, fmt.Errorf("%w: the receipt of %v that %s returns has the status %d", chain.ErrDisagree, in.Hash, c.cfg.URL, uint64(*r.Status))
	}
	out = chain.Receipt{Inclusion: in, GasUsed: uint64(*r.GasUsed), GasPrice: r.GasPrice.ToInt(), By: [2]string{c.cfg.URL}}
	if r.DataFee != nil {
		out.Beside = r.DataFee.ToInt()
	}
	if r.Created != nil && !in.Effect.Failed() { // some nodes name a contract that was not created
		out.Created = chain.Account(r.Created[:])
	}
	for _, l := range r.Logs {
		topics := make([]chain.Hash, len(l.Topics))
		for i, t := range l.Topics {
			topics[i] = chain.Hash(t[:])
		}
		out.AddLog(chain.Log{Address: chain.Account(l.Address[:]), Topics: topics, Data: l.Data})
	}
	return out, nil
}

// AccountStates implements chain.Chain. Balances and counts are asked for by the hash of the head (EIP-1898): behind one endpoint
// may be nodes on other branches. It has the least urgency.
func (c *Chain) AccountStates(ctx context.Context, accounts []chain.Account) (all []chain.AccountState, err error) {
	f, err := c.known(ctx)
	if err != nil {
		return nil, err
	}
	for try := range maxTries { // some of the backends may lack the block
		if try > 0 && pause.For(ctx, time.Duration(try)*10*time.Millisecond) != nil {
			break
		}
		if all, err = c.accountStates(ctx, f, accounts); err == nil {
			break
		}
	}
	return all, err
}

func (c *Chain) accountStates(ctx context.Context, f facts, accounts []chain.Account) (all []chain.AccountState, err error) {
	var head *header
	if err := c.all(ctx, []rpc.BatchElem{f.blockCall("latest", &head)}); err != nil {
		return nil, err
	}
	if err := c.checkBlock(head); err != nil {
		return nil, err
	}
	if _, err := c.checkNumber("head number", head.Number); err != nil {
		return nil, err
	}
	as := map[string]any{"blockHash": head.Hash}
	has, next := make([]*hexutil.Big, len(accounts)), make([]*hexutil.Uint64, len(accounts))
	var calls []rpc.BatchElem
	for i, a := range accounts {
		calls = append(calls, rpc.BatchElem{Method: "eth_getBalance", Args: []any{a, as}, Result: &has[i]},
			rpc.BatchElem{Method: "eth_getTransactionCount", Args: []any{a, as}, Result: &next[i]})
	}
	if err := c.all(ctx, calls); err != nil {
		return nil, err
	}
	for i, a := range accounts {
		if has[i] == nil || next[i] == nil {
			return nil, fmt.Errorf("%w: %s gives no balance or no count of %v", chain.ErrAnswer, c.cfg.URL, a)
		}
		count, err := c.checkNumber("next nonce", *next[i])
		if err != nil {
			return nil, err
		}
		all = append(all, chain.AccountState{Account: a, Block: head.block(), Balance: has[i].ToInt(), Next: count, By: c.cfg.URL})
	}
	return all, nil
}
