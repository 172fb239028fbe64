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

const (
	codeReverted = 3      // with what the contract gave as its reason, in the text or as data
	codeVM       = -32015 // execution failed, with clients that follow OpenEthereum
)

// busy is what a node says that could not look at a call: it has no state, or no time. It
// says nothing of the call.
var busy = []string{
	"timeout", "timed out", "deadline", "canceled", "cancelled", "aborted", "not found", "missing trie node", "unavailable",
	"not available", "pruned", "syncing", "does not exist", "not supported", "unauthorized", "forbidden",
}

// unexecutable is what an EVM says of a call that it executed and that failed. Where a
// client has no code for it, the text is all there is: go-ethereum answers with the bare
// text of its core/vm/errors.go and core/vm/contracts.go, under the code of everything else.
var unexecutable = []string{
	"invalid opcode", "gas required exceeds", "out of gas", "outofgas", "stack", "invalid jump", "intrinsic gas",
	"floor data gas", "gas limit", "initcode", "contract creation", "code size", "write protection", "invalidfeopcode", "evm error",
	"gas uint64 overflow", "nonce uint64 overflow", "return data out of bounds", "must not begin with 0xef",
	"contract address collision", "call depth exceeded",
	// The precompiled contracts, which say what is wrong with the data.
	"invalid input length", "invalid final flag", "length exceeded 1024 bytes", "elliptic curve", "bn256", "point size",
	"point length", "field element", "fp.element", "on curve", "correct subgroup", "mismatched versioned hash", "kzg proof",
}

// refused makes sense of an estimate that failed. What a contract says comes first: its
// words are its own, and may be those of anything below.
func (c *Chain) refused(call rpc.BatchElem) error {
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
	case throttled(call.Error) || has(said, busy...):
		return c.endpoint.fail(call.Method, call.Error)
	case poor(text):
		return fmt.Errorf("%w: %s", chain.ErrFunds, text)
	case code == codeVM || has(said, unexecutable...):
		return fmt.Errorf("%w: %s", chain.ErrCall, text)
	}
	return fmt.Errorf("%w: %s", chain.ErrUnclear, text)
}

// reverted says that a contract speaks: the call was paid for, and begun.
func reverted(err error) bool {
	code, text, ok := answered(err)
	return ok && (code == codeReverted || has(strings.ToLower(text), "revert"))
}

// poor says that an account cannot pay, in what clients say of a call or of a transaction.
func poor(text string) bool {
	v, _ := find(text, sayings)
	return v == chain.NoFunds
}

func has(text string, some ...string) bool {
	for _, one := range some {
		if strings.Contains(text, one) {
			return true
		}
	}
	return false
}

// confirm looks again at what an estimate failed for, before somebody's wish is given up
// for it: a node that syncs executes calls on an older head, where what they need may not
// be yet.
func (c *Chain) confirm(ctx context.Context, drafts []chain.Draft, estimates map[string]estimate) error {
	if err := c.again(ctx, drafts, estimates); err != nil {
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
		e.err = fmt.Errorf("%w: %s syncs, and says of an older head: %w", chain.ErrAnswer, c.cfg.URL, e.said)
		estimates[key] = e
	}
	return nil
}

// again asks once more for what was refused in words that nobody knows, each beside a call
// that does nothing: it is about the call only if the node takes that one.
func (c *Chain) again(ctx context.Context, drafts []chain.Draft, estimates map[string]estimate) error {
	at := map[string]int{} // where in calls
	var calls []rpc.BatchElem
	for _, d := range drafts {
		key := callKey(d.Account, callOf(d))
		if _, twice := at[key]; twice || !errors.Is(estimates[key].err, chain.ErrUnclear) {
			continue
		}
		at[key] = len(calls)
		calls = append(calls, estimating(d.Account, callOf(d)), estimating(d.Account, nothing(d.Account)))
	}
	if err := c.batch(ctx, calls); err != nil {
		return err
	}
	for key, i := range at {
		e := c.estimated(calls[i])
		if errors.Is(e.err, chain.ErrUnclear) && !c.estimated(calls[i+1]).works() {
			e.err = c.endpoint.fail(calls[i].Method, calls[i].Error)
		}
		estimates[key] = e
	}
	return nil
}

// works says that an estimate is of a node that executes calls, whatever came of this one.
func (e estimate) works() bool { return e.err == nil || errors.Is(e.err, chain.ErrCall) }

// syncs tells whether the node says that it does. Many do not offer the method, and what
// stands before them may refuse all of a request for it, so it is asked for alone.
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

// behind reads what eth_syncing says: false, or how far it has got. Some clients say how
// far when they are there, and index what they have.
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
