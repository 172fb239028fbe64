// Package rpc asks the JSON-RPC of a chain's node, without any code of the product.
package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Client asks one node. Close it.
type Client struct {
	url  string
	http *http.Client
}

// New makes a client of the node at a URL. Patience bounds each request.
func New(url string, patience time.Duration) *Client {
	return &Client{url, &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
}

// Close ends the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Ask calls a method and decodes its result, which must not be null; a nil out drops it.
func (c *Client) Ask(ctx context.Context, out any, method string, args ...any) error {
	var said struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": append([]any{}, args...)})
	if err == nil {
		err = c.Post(ctx, body, &said)
	}
	switch {
	case err != nil:
	case said.Error != nil:
		err = errors.New(said.Error.Message)
	case out == nil:
	case len(said.Result) == 0 || string(said.Result) == "null":
		err = errors.New("the answer has no result")
	default:
		err = json.Unmarshal(said.Result, out)
	}
	if err != nil {
		return fmt.Errorf("asking the chain for %s: %w", method, err)
	}
	return nil
}

// Number calls a method whose result is a number.
func (c *Client) Number(ctx context.Context, method string, args ...any) (uint64, error) {
	var said string
	if err := c.Ask(ctx, &said, method, args...); err != nil {
		return 0, err
	}
	return Number(said)
}

// Count returns how many transactions an account has sent, at a tag or a number: the next nonce.
func (c *Client) Count(ctx context.Context, account any, at string) (uint64, error) {
	return c.Number(ctx, "eth_getTransactionCount", account, at)
}

// Post sends a body as it is, and decodes the answer.
func (c *Client) Post(ctx context.Context, body []byte, out any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	return json.NewDecoder(answer.Body).Decode(out)
}

// Hex writes a number as nodes do.
func Hex(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

// Number reads one.
func Number(text string) (uint64, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("the chain says %q where a number belongs", text)
	}
	return n, nil
}
