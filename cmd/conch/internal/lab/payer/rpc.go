//go:build unix

package payer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/chain"
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
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": args})
	if err != nil {
		return err
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	err = c.post(ctx, string(body), &answer)
	if err == nil && answer.Error != nil {
		err = errors.New(answer.Error.Message)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return json.Unmarshal(answer.Result, result)
}

// post sends a body unchanged and decodes the answer.
func (c *rpcClient) post(ctx context.Context, body string, answer any) error {
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		return err
	}
	ask.Header.Set("Content-Type", "application/json")
	got, err := c.client.Do(ask)
	if err != nil {
		return err
	}
	defer func() { _ = got.Body.Close() }()
	return json.NewDecoder(got.Body).Decode(answer)
}

// count returns the number of an account's transactions at a tag: pending, latest or finalized.
func (c *rpcClient) count(ctx context.Context, account chain.Account, at string) (uint64, error) {
	var text string
	if err := c.call(ctx, &text, "eth_getTransactionCount", account, at); err != nil {
		return 0, err
	}
	return strconv.ParseUint(text, 0, 64)
}
