package evm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// classify returns what the error of an estimate means for the call.
func (c *Chain) classify(call rpc.BatchElem) error {
	if call.Error == nil {
		return nil
	}
	code, text, ok := answered(call.Error)
	if !ok {
		return c.endpoint.fail(call.Method, call.Error)
	}
	switch classEstimate(code, text) {
	case classLimit, classBusy:
		return c.endpoint.fail(call.Method, call.Error)
	case classNoFunds:
		return fmt.Errorf("%w: %s", chain.ErrFunds, text)
	case classCall:
		return fmt.Errorf("%w: %s", chain.ErrCall, text)
	default:
		return fmt.Errorf("%w: %s", chain.ErrUnclear, text)
	}
}

// reverted reports whether a contract reverted. Then the account has the value of the call.
func reverted(err error) bool {
	code, text, ok := answered(err)
	return ok && reverts(code, text)
}

// reverts is reverted, of an answer. The word comes first, since a contract may choose any text for its
// reason. The code alone is enough unless the text is about something else: zkSync has it for
// every error of an estimate.
func reverts(code int, text string) bool {
	if strings.Contains(strings.ToLower(text), "revert") {
		return true
	}
	words := said()
	switch match(words.attempts, text) {
	case classNoFunds, classLimit, classTooLarge:
		return false
	default:
		return code == codeReverted && match(words.busy, text) != classBusy
	}
}

// confirm checks failed estimates again, before an intent is rejected for one. A node that is
// syncing runs calls on an older head, which may lack what they need.
func (c *Chain) confirm(ctx context.Context, drafts []chain.Draft, estimates map[string]estimate) error {
	if err := c.estimateAgain(ctx, drafts, estimates); err != nil {
		return err
	}
	var blamed []string
	for key, e := range estimates {
		if errors.Is(e.err, chain.ErrCall) || errors.Is(e.err, chain.ErrUnclear) {
			blamed = append(blamed, key)
		}
	}
	if len(blamed) == 0 {
		return nil
	}
	syncs, err := c.syncs(ctx)
	if err != nil || !syncs {
		return err
	}
	for _, key := range blamed {
		e := estimates[key]
		e.err = fmt.Errorf("%w: %s is syncing, and answers for an older head: %w", chain.ErrAnswer, c.cfg.URL, e.said)
		estimates[key] = e
	}
	return nil
}

// estimateAgain repeats the estimates with an unrecognised error, each beside that of an empty call.
// The error is about the call only if the node estimates the empty one.
func (c *Chain) estimateAgain(ctx context.Context, drafts []chain.Draft, estimates map[string]estimate) error {
	if len(estimates) == 0 {
		return nil
	}
	at := map[string]int{} // positions in calls
	var calls []rpc.BatchElem
	for _, d := range drafts {
		key := callKey(d.Account, callOf(d))
		if _, twice := at[key]; twice || !errors.Is(estimates[key].err, chain.ErrUnclear) {
			continue
		}
		at[key] = len(calls)
		calls = append(calls, estimateCall(d.Account, callOf(d)), estimateCall(d.Account, emptyCall(d.Account)))
	}
	if err := c.batch(ctx, calls); err != nil {
		return err
	}
	for key, i := range at {
		e := c.readEstimate(calls[i])
		if errors.Is(e.err, chain.ErrUnclear) && !c.readEstimate(calls[i+1]).works() {
			e.err = c.endpoint.fail(calls[i].Method, calls[i].Error)
		}
		estimates[key] = e
	}
	return nil
}

// works reports whether the node runs calls at all, even if this one failed.
func (e estimate) works() bool { return e.err == nil || errors.Is(e.err, chain.ErrCall) }

// syncs reports whether the node says that it is syncing. Many nodes lack the method, and a proxy
// may refuse a whole request for it, so it is asked for alone.
func (c *Chain) syncs(ctx context.Context) (bool, error) {
	var progress json.RawMessage
	calls := []rpc.BatchElem{{Method: "eth_syncing", Result: &progress}}
	err := c.batch(ctx, calls)
	if status, is := errors.AsType[*statusError](err); is && status.forGood() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := calls[0].Error; silent(err) || throttled(err) {
		return false, c.endpoint.fail(calls[0].Method, err)
	}
	return behind(progress), nil
}

// behind reads the answer to eth_syncing, which is false or the progress. Some clients report a
// progress while they index at the head, and are not behind.
func behind(progress json.RawMessage) bool {
	var at *struct {
		Current *hexutil.Uint64 `json:"currentBlock"`
		Highest *hexutil.Uint64 `json:"highestBlock"`
	}
	if json.Unmarshal(progress, &at) != nil || at == nil {
		return string(progress) == "true"
	}
	return at.Current == nil || at.Highest == nil || *at.Current < *at.Highest
}
