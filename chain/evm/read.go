package evm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pause"
)

// maxTries is how many requests in a row may fail to bring an answer before a read gives up.
const maxTries = 5

// batch makes calls in requests of up to MaxBatch, and returns an error if none had an answer.
// The errors of single calls are in their elements. It repeats calls without an answer, which
// only reads may do: over a connection that loses answers a large read would never be complete.
func (c *Chain) batch(ctx context.Context, calls []rpc.BatchElem) error {
	return c.read(ctx, calls, silent)
}

// all is batch for calls that must all succeed. It repeats those with an error too.
func (c *Chain) all(ctx context.Context, calls []rpc.BatchElem) error {
	if err := c.read(ctx, calls, faulty); err != nil {
		return err
	}
	for _, call := range calls {
		if call.Error != nil {
			return c.endpoint.fail(call.Method, call.Error)
		}
	}
	return nil
}

// silent reports whether a call had no answer.
func silent(err error) bool {
	_, _, spoken := answered(err)
	return err != nil && !spoken
}

// faulty reports whether a retry might give a different answer.
func faulty(err error) bool {
	code, text, spoken := answered(err)
	if !spoken {
		return err != nil
	}
	if _, is := limited(err); is {
		return true // after a while
	}
	// An unknown method or tag, bad parameters and a size stay the same.
	return !tooLarge(err) && !answerTooLarge(err) && !slices.Contains([]int{codeMethod, codeParams, codeLimit, codeRateLimit}, code) && !strings.Contains(strings.ToLower(text), "not found")
}

// throttled reports whether the node refuses the caller, not the call, as for a rate limit. A method
// that the node does not have is refused too, and is no such error.
func throttled(err error) bool {
	code, text, spoken := answered(err)
	if !spoken {
		return false
	}
	c := match(said().attempts, text)
	return code == codeLimit || code == codeRateLimit || c == classLimit || c == classTooLarge
}

// read makes calls in requests of up to MaxBatch, and repeats those whose error retry selects.
func (c *Chain) read(ctx context.Context, calls []rpc.BatchElem, retry func(error) bool) error {
	for from := 0; from < len(calls); {
		part := calls[from : from+c.endpoint.budget.FitCalls(calls[from:min(len(calls), from+c.reads.limit(c.cfg.MaxBatch))])]
		err := c.insist(ctx, part, retry)
		large := func(err error) bool { return tooLarge(err) || answerTooLarge(err) }
		refused := large(err) || slices.ContainsFunc(part, func(call rpc.BatchElem) bool { return large(call.Error) })
		if refused && c.reads.shrink(len(part)) {
			continue
		}
		if err != nil {
			if ctx.Err() == nil { // else the caller hung up
				c.forget()
			}
			return err
		}
		from += len(part)
	}
	return nil
}

// insist makes one request, and repeats calls within one Timeout. It fails if no request had an answer.
func (c *Chain) insist(ctx context.Context, calls []rpc.BatchElem, retry func(error) bool) error {
	if err := c.endpoint.budget.WaitFor(ctx, c.endpoint.budget.SumCosts(calls)); err != nil {
		return c.endpoint.fail(calls[0].Method, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	failure := c.endpoint.exchange(ctx, calls)
	if failure != nil {
		for i := range calls {
			calls[i].Error = failure
		}
	}
	for tries := 1; tries < maxTries && !pointless(failure); tries++ {
		open := toRepeat(calls, retry)
		if len(open) == 0 || pause.For(ctx, time.Duration(tries-1)*10*time.Millisecond) != nil {
			break
		}
		more, err := c.repeat(ctx, calls, open, retry)
		if errors.Is(err, chain.ErrForeign) {
			return err
		}
		if more {
			failure, tries = nil, 0
		}
	}
	return failure
}

// pointless reports whether no retry can succeed: the endpoint refuses requests, or time is up.
func pointless(err error) bool {
	status, refused := errors.AsType[*statusError](err)
	return refused && status.code != http.StatusTooManyRequests || tooLarge(err) || answerTooLarge(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// toRepeat returns the positions of the open calls, whose error retry selects.
func toRepeat(calls []rpc.BatchElem, retry func(error) bool) (open []int) {
	for i, call := range calls {
		if retry(call.Error) {
			open = append(open, i)
		}
	}
	return open
}

// repeat makes the open calls again, and reports whether some are no longer open. After a silence
// another node may answer, so the request asks for the chain ID again.
func (c *Chain) repeat(ctx context.Context, calls []rpc.BatchElem, open []int, retry func(error) bool) (more bool, err error) {
	var id hexutil.Uint64
	request := []rpc.BatchElem{{Method: "eth_chainId", Result: &id}}
	for _, i := range open {
		request = append(request, rpc.BatchElem{Method: calls[i].Method, Args: calls[i].Args, Result: calls[i].Result})
	}
	if err := c.endpoint.batch(ctx, request); err != nil || request[0].Error != nil {
		return false, err
	}
	if uint64(id) != c.cfg.ChainID {
		return false, c.foreign(uint64(id))
	}
	for at, i := range open {
		calls[i].Error = request[at+1].Error
		more = more || !retry(calls[i].Error)
	}
	return more, nil
}

func (c *Chain) foreign(id uint64) error {
	return fmt.Errorf("%w: %s has chain ID %d, the configuration says %d: correct one of them", chain.ErrForeign, c.cfg.URL, id, c.cfg.ChainID)
}
