// Package rpc asks the JSON-RPC of a chain's node, without any code of the product.
package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// Call calls a method and decodes its result; a nil out drops it.
func Call(ctx context.Context, client *http.Client, url string, out any, method string, args ...any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": append([]any{}, args...)})
	if err != nil {
		return err
	}
	var said struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	switch err := Post(ctx, client, url, body, &said); {
	case err != nil:
		return err
	case said.Error != nil:
		return errors.New(said.Error.Message)
	case out == nil:
		return nil
	default:
		return json.Unmarshal(said.Result, out)
	}
}

// Post sends a body as it is, and decodes the answer.
func Post(ctx context.Context, client *http.Client, url string, body []byte, out any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	return json.NewDecoder(answer.Body).Decode(out)
}
