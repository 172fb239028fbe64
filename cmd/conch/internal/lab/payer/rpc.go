//go:build unix

package payer

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/lab/rpc"
)

// rpcClient queries a node without any code of conch.
type rpcClient struct {
	url    string
	client *http.Client
}

func newRPCClient(url string) *rpcClient {
	return &rpcClient{url: url, client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
}

func (c *rpcClient) close() { c.client.CloseIdleConnections() }

func (c *rpcClient) call(ctx context.Context, result any, method string, args ...any) error {
	if err := rpc.Call(ctx, c.client, c.url, result, method, args...); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// post sends a body unchanged and decodes the answer.
func (c *rpcClient) post(ctx context.Context, body string, answer any) error {
	return rpc.Post(ctx, c.client, c.url, []byte(body), answer)
}

// count returns the number of an account's transactions at a tag: pending, latest or finalized.
func (c *rpcClient) count(ctx context.Context, account chain.Account, at string) (uint64, error) {
	var text string
	if err := c.call(ctx, &text, "eth_getTransactionCount", account, at); err != nil {
		return 0, err
	}
	return strconv.ParseUint(text, 0, 64)
}
