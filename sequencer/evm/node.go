package evm

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

// Node is an endpoint of the chain. Go-ethereum's rpc.Client is one. An answer is waited for ten seconds.
type Node interface {
	CallContext(ctx context.Context, result any, method string, args ...any) error
	BatchCallContext(ctx context.Context, batch []rpc.BatchElem) error
}

// turn has another endpoint asked from now on, if there are several, when one has not given what is needed: it may have
// stopped and answer for ever.
func turn(ctx context.Context, n bounded, err error) {
	if several, is := n.Node.(interface{ Turn() }); is && err != nil && ctx.Err() == nil {
		several.Turn()
	}
}

const answerTime = 10 * time.Second

// bounded is a node that answers in time, or fails. Its errors do not have the endpoint's URL, which may carry a secret.
type bounded struct{ Node }

func (n bounded) CallContext(ctx context.Context, result any, method string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return bare(n.Node.CallContext(ctx, result, method, args...))
}

func (n bounded) BatchCallContext(ctx context.Context, batch []rpc.BatchElem) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return bare(n.Node.BatchCallContext(ctx, batch))
}

func bare(err error) error {
	if of, is := errors.AsType[*url.Error](err); is {
		return fmt.Errorf("the endpoint of the chain: %w", of.Err)
	}
	return err
}
