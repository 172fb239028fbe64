package explorer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

type client struct {
	url  string
	http *http.Client
}

// ask calls a method and decodes its result, which must not be null.
func (c *client) ask(ctx context.Context, out any, method string, args ...any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": append([]any{}, args...)})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("asking the chain: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	var said struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	err = json.NewDecoder(answer.Body).Decode(&said)
	switch {
	case err != nil:
	case said.Error != nil:
		err = errors.New(said.Error.Message)
	case len(said.Result) == 0 || string(said.Result) == "null":
		err = errors.New("the answer has no result")
	default:
		err = json.Unmarshal(said.Result, out)
	}
	if err != nil {
		return fmt.Errorf("asking the chain for %s%v: %w", method, args, err)
	}
	return nil
}

func (c *client) number(ctx context.Context, method string, args ...any) (uint64, error) {
	var said string
	if err := c.ask(ctx, &said, method, args...); err != nil {
		return 0, err
	}
	return number(said)
}

func hexNumber(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

func number(text string) (uint64, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("the chain says %q where a number belongs", text)
	}
	return n, nil
}
