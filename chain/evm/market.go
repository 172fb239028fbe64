package evm

import (
	"context"
	"encoding/binary"
	"math/big"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// market has the current fees, balances and estimates.
type market struct {
	tip       *big.Int  // that is suggested
	least     chain.Fee // that the next block takes
	balances  map[chain.Account]*big.Int
	spent     map[chain.Account]*big.Int // what the drafts before may cost
	gas       map[string]estimate        // by callKey
	unpayable map[string]bool            // by callKey; calls without an estimate, since they transfer more than there is
}

// fetchMarket fetches in one request what the drafts need and the quote of the head does not have.
func (c *Chain) fetchMarket(ctx context.Context, f facts, drafts []chain.Draft) (*market, error) {
	q := c.quotes.fresh(2 * c.lookEvery())
	var head *header
	var tip tipAnswer
	asked := c.askAbout(q, drafts)
	calls := asked.calls
	if q.base == nil {
		calls = append(calls, f.blockCall("latest", &head))
	}
	if q.tip == nil && f.tips != tipUnknown {
		calls = append(calls, f.tips.call(&tip))
	}
	if err := c.batch(ctx, calls); err != nil {
		return nil, err
	}
	estimates := map[string]estimate{}
	for key, at := range asked.gas {
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
	for a, b := range asked.balances {
		q.balances[a] = b.ToInt()
	}
	c.quotes.add(q)
	m := q.market(c.cfg.MinTip, estimates)
	m.unpayable = asked.unpayable
	return m, nil
}

// questions are the calls about some drafts.
type questions struct {
	calls     []rpc.BatchElem
	balances  map[chain.Account]*hexutil.Big
	gas       map[string]int // positions in calls, by callKey
	unpayable map[string]bool
}

// askAbout returns the calls for what the quote does not have: balances, and an estimate for each call that the account
// may be able to pay. One that waits for money is tried often.
func (c *Chain) askAbout(q quote, drafts []chain.Draft) questions {
	out := questions{balances: map[chain.Account]*hexutil.Big{}, gas: map[string]int{}, unpayable: map[string]bool{}}
	for _, d := range drafts {
		if c.keys.of(d.Account) == nil {
			continue
		}
		has := q.balances[d.Account]
		if has == nil && out.balances[d.Account] == nil {
			out.balances[d.Account] = new(hexutil.Big)
			out.calls = append(out.calls, rpc.BatchElem{Method: "eth_getBalance", Args: []any{d.Account, "latest"}, Result: out.balances[d.Account]})
		}
		call := callOf(d)
		key := callKey(d.Account, call)
		if has != nil && call.Value != nil && call.Value.Cmp(has) > 0 {
			out.unpayable[key] = true
			continue
		}
		if _, asked := out.gas[key]; call.Gas == 0 && !asked {
			out.gas[key] = len(out.calls)
			out.calls = append(out.calls, estimateCall(d.Account, call))
		}
	}
	return out
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

// market has what the next block asks for. No tip is below least, if that is not nil.
func (q quote) market(least *big.Int, gas map[string]estimate) *market {
	if least == nil {
		least = new(big.Int)
	}
	return &market{
		tip: q.tip, least: chain.Fee{Max: q.base, Tip: least},
		balances: q.balances, gas: gas, spent: map[chain.Account]*big.Int{},
	}
}

// callKey identifies a call. Equal calls of a batch share one estimate. It is made a few times for each transaction.
func callKey(a chain.Account, call chain.Call) string {
	const most = 2*binary.MaxVarintLen64 + len("\x00") + 64 // two lengths, and a value of 256 bits
	key := make([]byte, 0, most+len(a)+len(call.To)+len(call.Data))
	key = append(binary.AppendUvarint(key, uint64(len(a))), a...)
	key = append(binary.AppendUvarint(key, uint64(len(call.To))), call.To...)
	key = append(call.Value.Append(key, 16), 0)
	return string(append(key, call.Data...))
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
