package evm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/internal/budget"
)

const sendMethod = "eth_sendRawTransaction"

// overhead is how many bytes a call adds to a request, beside the attempt.
const overhead = 128

func urgencyOfSend(ctx context.Context) budget.Urgency {
	if chain.PurposeOf(ctx).Front {
		return budget.Front
	}
	return budget.Sends
}

// Submit implements chain.Chain.
func (c *Chain) Submit(ctx context.Context, attempts []chain.Signed) []chain.Outcome {
	outcomes := make([]chain.Outcome, len(attempts))
	if len(attempts) == 0 {
		return outcomes
	}
	ctx = budget.Urgently(ctx, urgencyOfSend(ctx))
	if text, busy := c.busy(ctx, 1); busy { // known may ask, and wait
		fill(outcomes, chain.Outcome{Verdict: chain.Refused, Text: text, By: c.cfg.URL})
		return outcomes
	}
	if _, err := c.known(ctx); err != nil {
		verdict := chain.Unknown
		if errors.Is(err, chain.ErrForeign) {
			verdict = chain.Refused // nothing was sent
		}
		fill(outcomes, chain.Outcome{Verdict: verdict, Text: err.Error(), By: c.cfg.URL})
		return outcomes
	}
	for from := 0; from < len(attempts); {
		to := c.fit(attempts, from)
		if text, busy := c.busy(ctx, to-from); busy {
			fill(outcomes[from:], chain.Outcome{Verdict: chain.Refused, Text: text, By: c.cfg.URL})
			break
		}
		if !c.turn(ctx, to-from) {
			fill(outcomes[from:], chain.Outcome{Verdict: chain.Refused, Text: "not sent: " + c.cfg.URL + " took no more calls for too long", By: c.cfg.URL})
			break
		}
		c.submitted.add(attempts[from:to])
		err := c.submit(ctx, attempts[from:to], outcomes[from:to])
		if tooLarge(err) && c.sends.shrink(to-from) {
			continue // nothing was sent
		}
		if err != nil {
			// The rest would meet the same silence, and be sent out of order.
			sent, rest := requestVerdicts(err, to-from)
			fill(outcomes[from:to], chain.Outcome{Verdict: sent, Text: err.Error(), By: c.cfg.URL})
			fill(outcomes[to:], chain.Outcome{Verdict: rest, Text: err.Error(), By: c.cfg.URL})
			break
		}
		from = to
	}
	return outcomes
}

// mostWaited is for how long a send waits for the endpoint's allowance.
const mostWaited = time.Second

// busy reports whether so many calls would have to wait for longer, and what to say then. The caller holds a gate's
// door, and a leader that leaves waits for it.
func (c *Chain) busy(ctx context.Context, calls int) (text string, busy bool) {
	wait := c.endpoint.budget.BusyFor(ctx, float64(calls)*c.endpoint.budget.CostOf(sendMethod))
	return fmt.Sprintf("not sent: %s takes no more calls for %v", c.cfg.URL, wait.Round(time.Second)), wait > mostWaited
}

// turn waits until a send may be made, and not for long. What has waited longer is not sent: its caller may be over.
func (c *Chain) turn(ctx context.Context, calls int) bool {
	brief, cancel := context.WithTimeout(ctx, mostWaited)
	defer cancel()
	return c.endpoint.budget.WaitFor(brief, float64(calls)*c.endpoint.budget.CostOf(sendMethod)) == nil
}

// fit returns the end of the request that begins at from.
func (c *Chain) fit(attempts []chain.Signed, from int) int {
	size := 0
	to := from
	most := c.endpoint.budget.FitCalls(slices.Repeat([]rpc.BatchElem{{Method: sendMethod}}, min(len(attempts)-from, c.sends.limit(c.cfg.MaxBatch))))
	for to < len(attempts) && to-from < most {
		size += 2*len(attempts[to].Bytes) + overhead
		if size > c.cfg.MaxBody && to > from {
			break
		}
		to++
	}
	return to
}

func (c *Chain) submit(ctx context.Context, attempts []chain.Signed, outcomes []chain.Outcome) error {
	calls := make([]rpc.BatchElem, len(attempts))
	for i, a := range attempts {
		calls[i] = rpc.BatchElem{Method: sendMethod, Args: []any{hexutil.Bytes(a.Bytes)}, Result: new(hexutil.Bytes)}
	}
	if err := c.endpoint.exchange(ctx, calls); err != nil {
		c.forget()
		return err
	}
	// Some nodes answer the first call of a batch that is too large, and none of the others.
	refused := slices.ContainsFunc(calls, func(call rpc.BatchElem) bool { return silent(call.Error) }) &&
		slices.ContainsFunc(calls, func(call rpc.BatchElem) bool { return tooLarge(call.Error) })
	for i, call := range calls {
		outcomes[i] = c.outcome(call, attempts[i])
		outcomes[i].By = c.cfg.URL
		if refused && silent(call.Error) {
			outcomes[i].Verdict = chain.Refused
		}
	}
	if all := func(call rpc.BatchElem) bool { return !tooLarge(call.Error) }; !slices.ContainsFunc(calls, all) {
		return c.endpoint.fail(calls[0].Method, calls[0].Error) // item by item: nothing was sent
	}
	return nil
}

// outcome reads the answer to one attempt.
func (c *Chain) outcome(call rpc.BatchElem, attempt chain.Signed) chain.Outcome {
	if code, text, ok := answered(call.Error); ok {
		said := classAttempt(code, text)
		switch said {
		case classOtherChain:
			c.forget() // so that the next call asks for the chain ID
		case classNone:
			c.noteUnknown(call.Method, code, text)
		default:
		}
		return chain.Outcome{Verdict: said.verdict(), Text: text}
	}
	if call.Error != nil {
		return chain.Outcome{Text: c.endpoint.fail(call.Method, call.Error).Error()}
	}
	if hash, _ := call.Result.(*hexutil.Bytes); !bytes.Equal(*hash, []byte(attempt.Hash)) {
		return chain.Outcome{Text: fmt.Sprintf("sent %v, and the node accepted %v", attempt.Hash, *hash)}
	}
	return chain.Outcome{Verdict: chain.Accepted}
}

func fill(outcomes []chain.Outcome, with chain.Outcome) {
	for i := range outcomes {
		outcomes[i] = with
	}
}
