package evm

import (
	"context"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// Quote implements chain.Chain, in one request. It has the least urgency: nothing that is to be sent waits for it.
func (c *Chain) Quote(ctx context.Context, from chain.Account, call chain.Call, speed chain.Speed) (out chain.Quote, err error) {
	f, err := c.known(ctx)
	if err != nil {
		return out, err
	}
	var head *header
	var tip tipAnswer
	has := new(hexutil.Big)
	calls := []rpc.BatchElem{tried(from, call), f.blockCall("latest", &head), {Method: "eth_getBalance", Args: []any{from, "latest"}, Result: has}}
	if f.tips != tipUnknown {
		calls = append(calls, f.tips.call(&tip))
	}
	if err := c.batch(ctx, calls); err != nil {
		return out, err
	}
	if err := c.marketFault(f, calls[1:]); err != nil {
		return out, err
	}
	if err := c.checkBlock(head); err != nil {
		return out, err
	}
	if head.BaseFee == nil {
		return out, c.unsupported()
	}
	base := head.BaseFee.ToInt()
	q := quote{base: base, tip: f.tips.read(&tip, base)}
	m := q.market(c.cfg.MinTip, nil)
	out = chain.Quote{Block: head.block(), Balance: has.ToInt(), Suggested: speed.Suggest(m.least.Max, m.tip, m.least.Tip), Least: m.least, By: c.cfg.URL}
	q.balances = map[chain.Account]*big.Int{from: out.Balance}
	out.Gas, out.Fault = c.tryOut(f, q, from, call, calls[0])
	if code, text, spoken := answered(calls[0].Error); spoken && reverts(code, text) {
		out.Reason = reasonOf(calls[0].Error, text)
	}
	return out, nil
}

// tried is the call that finds out whether a call fails on the head: an estimate, or the call itself if it has its own gas.
func tried(from chain.Account, call chain.Call) rpc.BatchElem {
	if call.Gas == 0 {
		return estimateCall(from, call)
	}
	args := arguments(from, call)
	args["gas"] = hexutil.Uint64(call.Gas)
	return rpc.BatchElem{Method: "eth_call", Args: []any{args, "latest"}, Result: new(hexutil.Bytes)}
}

// tryOut returns the gas limit of a call that was tried, or why it would have no effect.
func (c *Chain) tryOut(f facts, q quote, from chain.Account, call chain.Call, answer rpc.BatchElem) (gas uint64, fault error) {
	e := estimate{err: c.classify(answer), said: answer.Error}
	if call.Gas == 0 {
		e = c.readEstimate(answer)
	} else if _, text, spoken := answered(answer.Error); spoken && strings.Contains(strings.ToLower(text), "out of gas") {
		e.err = fmt.Errorf("%w: %s", chain.ErrCall, text)
	}
	m := q.market(c.cfg.MinTip, map[string]estimate{callKey(from, call): e})
	gas, fault = m.gasLimit(f, chain.Draft{Account: from, Call: call}, call)
	if fault == nil && e.err != nil { // of a call with its own gas
		fault = m.estimateError(e, from, call)
	}
	if has := q.balances[from]; fault == nil && call.Value != nil && call.Value.Cmp(has) > 0 { // not every node looks at that
		fault = fmt.Errorf("%w: it transfers %v wei, and the account has %v", chain.ErrFunds, call.Value, has)
	}
	return gas, fault
}
