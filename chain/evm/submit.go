package evm

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// overhead is what a call has around its bytes, in a request.
const overhead = 128

// Submit implements chain.Chain.
func (c *Chain) Submit(ctx context.Context, attempts []chain.Signed) []chain.Outcome {
	outcomes := make([]chain.Outcome, len(attempts))
	if len(attempts) == 0 {
		return outcomes
	}
	if _, err := c.known(ctx); err != nil {
		verdict := chain.Unknown
		if errors.Is(err, chain.ErrForeign) {
			verdict = chain.Refused // by us: nothing was sent
		}
		fill(outcomes, chain.Outcome{Verdict: verdict, Text: err.Error()})
		return outcomes
	}
	for from := 0; from < len(attempts); {
		to := c.fit(attempts, from)
		c.handed.add(attempts[from:to])
		if err := c.submit(ctx, attempts[from:to], outcomes[from:to]); err != nil {
			// The rest waits for the same silence, and the order would be lost.
			fill(outcomes[from:], chain.Outcome{Text: err.Error()})
			break
		}
		from = to
	}
	return outcomes
}

// fit tells where the request that begins there has to end.
func (c *Chain) fit(attempts []chain.Signed, from int) int {
	size := 0
	to := from
	for to < len(attempts) && to-from < c.cfg.MaxBatch {
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
		calls[i] = rpc.BatchElem{Method: "eth_sendRawTransaction", Args: []any{hexutil.Bytes(a.Bytes)}, Result: new(hexutil.Bytes)}
	}
	if err := c.endpoint.batch(ctx, calls); err != nil {
		c.forget()
		return err
	}
	for i, call := range calls {
		hash, _ := call.Result.(*hexutil.Bytes)
		code, text, ok := answered(call.Error)
		switch {
		case ok:
			outcomes[i] = chain.Outcome{Verdict: judge(code, text), Text: text}
			if outcomes[i].Verdict == chain.Refused && foreign(text) {
				c.forget() // whoever asks next is told which chain it is
			}
		case call.Error != nil:
			outcomes[i].Text = c.endpoint.fail(call.Method, call.Error).Error()
		case !bytes.Equal(*hash, []byte(attempts[i].Hash)):
			outcomes[i].Text = fmt.Sprintf("the node says that it took %v, not %v", *hash, attempts[i].Hash)
		default:
			outcomes[i].Verdict = chain.Accepted
		}
	}
	return nil
}

func fill(outcomes []chain.Outcome, with chain.Outcome) {
	for i := range outcomes {
		outcomes[i] = with
	}
}
