package evm

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// market has the current fees, balances and estimates.
type market struct {
	suggested, least chain.Fee
	balances         map[chain.Account]*big.Int
	gas              map[string]estimate // by callKey
}

// fetchMarket fetches in one request what the drafts need and the quote of the head does not have.
func (c *Chain) fetchMarket(ctx context.Context, f facts, drafts []chain.Draft) (*market, error) {
	q := c.quotes.fresh(2 * c.lookEvery())
	var head *header
	var tip tipAnswer
	var calls []rpc.BatchElem
	if q.base == nil {
		calls = append(calls, f.blockCall("latest", &head))
	}
	if q.tip == nil && f.tips != tipUnknown {
		calls = append(calls, f.tips.call(&tip))
	}
	balances := map[chain.Account]*hexutil.Big{}
	gas := map[string]int{} // positions in calls
	for _, d := range drafts {
		if c.keys.of(d.Account) == nil {
			continue
		}
		if q.balances[d.Account] == nil && balances[d.Account] == nil {
			balances[d.Account] = new(hexutil.Big)
			calls = append(calls, rpc.BatchElem{Method: "eth_getBalance", Args: []any{d.Account, "latest"}, Result: balances[d.Account]})
		}
		call := callOf(d)
		if _, asked := gas[callKey(d.Account, call)]; call.Gas == 0 && !asked {
			gas[callKey(d.Account, call)] = len(calls)
			calls = append(calls, estimateCall(d.Account, call))
		}
	}
	if err := c.batch(ctx, calls); err != nil {
		return nil, err
	}
	estimates := map[string]estimate{}
	for key, at := range gas {
		estimates[key] = c.readEstimate(calls[at])
	}
	if err := c.marketFault(f, calls); err != nil {
		return nil, err
	}
	if err := c.confirm(ctx, drafts, estimates); err != nil {
		return nil, err
	}
	if q.base == nil {
		if err := c.checkBlock(head); err != nil {
			return nil, err
		}
		if head.BaseFee == nil {
			return nil, c.unsupported()
		}
		q.base = head.BaseFee.ToInt()
	}
	if q.tip == nil {
		q.tip = f.tips.read(&tip, q.base)
	}
	for a, b := range balances {
		q.balances[a] = b.ToInt()
	}
	c.quotes.add(q)
	return q.market(c.cfg.MinTip, estimates), nil
}

// marketFault returns the error of a call without whose answer nothing can be signed.
func (c *Chain) marketFault(f facts, calls []rpc.BatchElem) error {
	for _, call := range calls {
		if call.Error == nil || call.Method == "eth_estimateGas" {
			continue
		}
		if call.Method == f.tips.call(new(tipAnswer)).Method {
			c.forget() // another backend may answer, which has not the method
		}
		return c.endpoint.fail(call.Method, call.Error)
	}
	return nil
}

// market suggests a fee for the next block, with room for rising fees in the blocks after it. No tip is below least,
// if that is not nil.
func (q quote) market(least *big.Int, gas map[string]estimate) *market {
	tip := q.tip
	if least == nil {
		least = new(big.Int)
	} else if least.Cmp(tip) > 0 {
		tip = least
	}
	price := new(big.Int).Add(new(big.Int).Mul(q.base, big.NewInt(2)), tip)
	return &market{
		suggested: chain.Fee{Max: price, Tip: tip}, least: chain.Fee{Max: q.base, Tip: least},
		balances: q.balances, gas: gas,
	}
}

// callKey identifies a call. Equal calls of a batch share one estimate.
func callKey(a chain.Account, call chain.Call) string {
	return fmt.Sprintf("%s\x00%s\x00%v\x00%s", string(a), call.To, call.Value, call.Data)
}

func arguments(a chain.Account, call chain.Call) map[string]any {
	args := map[string]any{"from": a}
	if len(call.To) > 0 {
		args["to"] = hexutil.Bytes(call.To)
	}
	if call.Value != nil && call.Value.Sign() > 0 {
		args["value"] = (*hexutil.Big)(call.Value)
	}
	if len(call.Data) > 0 {
		args["input"] = hexutil.Bytes(call.Data)
	}
	return args
}
