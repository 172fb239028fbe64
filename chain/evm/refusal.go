package evm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

const (
	codeReverted = 3      // a contract reverted; its reason is in the text or the data
	codeVM       = -32015 // execution failed, in clients that follow OpenEthereum
)

// busy are parts of errors of a node that lacks the state or the time to run a call.
var busy = []string{
	"timeout", "timed out", "deadline", "canceled", "cancelled", "aborted", "not found", "missing trie node", "unavailable",
	"not available", "pruned", "syncing", "does not exist", "not supported", "unauthorized", "forbidden",
}

// unexecutable are parts of errors of an EVM that ran a call and failed. Some clients have no
// code for this: go-ethereum answers with the text of its core/vm/errors.go and
// core/vm/contracts.go, under its general code.
var unexecutable = []string{
	"invalid opcode", "gas required exceeds", "out of gas", "outofgas", "stack", "invalid jump", "intrinsic gas",
	"floor data gas", "gas limit", "initcode", "contract creation", "code size", "write protection", "invalidfeopcode", "evm error",
	"gas uint64 overflow", "nonce uint64 overflow", "return data out of bounds", "must not begin with 0xef",
	"contract address collision", "call depth exceeded",
	// Errors of precompiled contracts about their input.
	"invalid input length", "invalid final flag", "length exceeded 1024 bytes", "elliptic curve", "bn256", "point size",
	"point length", "field element", "fp.element", "on curve", "correct subgroup", "mismatched versioned hash", "kzg proof",
}

// classify returns what the error of an estimate means for the call. A revert is checked first, since
// a contract may choose any text, such as one of those below.
func (c *Chain) classify(call rpc.BatchElem) error {
	if call.Error == nil {
		return nil
	}
	code, text, ok := answered(call.Error)
	said := strings.ToLower(text)
	switch {
	case !ok:
		return c.endpoint.fail(call.Method, call.Error)
	case reverted(call.Error):
		return fmt.Errorf("%w: %s", chain.ErrCall, text)
	case throttled(call.Error) || containsAny(said, busy):
		return c.endpoint.fail(call.Method, call.Error)
	case lacksFunds(text):
		return fmt.Errorf("%w: %s", chain.ErrFunds, text)
	case code == codeVM || containsAny(said, unexecutable):
		return fmt.Errorf("%w: %s", chain.ErrCall, text)
	}
	return fmt.Errorf("%w: %s", chain.ErrUnclear, text)
}

// reverted reports whether a contract reverted. Then the account has the value of the call.
func reverted(err error) bool {
	code, text, ok := answered(err)
	return ok && (code == codeReverted || strings.Contains(strings.ToLower(text), "revert"))
}

// lacksFunds reports whether a client's error means that the account cannot pay.
func lacksFunds(text string) bool {
	v, _ := match(text, phrases)
	return v == chain.NoFunds
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
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
