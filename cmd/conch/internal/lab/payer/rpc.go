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

// teller asks a node plainly, by nothing of conch's.
type teller struct {
	url    string
	client *http.Client
}

func newTeller(url string) *teller {
	return &teller{url: url, client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
}

func (t *teller) close() { t.client.CloseIdleConnections() }

// call asks one thing.
func (t *teller) call(ctx context.Context, result any, method string, args ...any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": args})
	if err != nil {
		return err
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	err = t.post(ctx, string(body), &answer)
	if err == nil && answer.Error != nil {
		err = errors.New(answer.Error.Message)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return json.Unmarshal(answer.Result, result)
}

// post sends a body as it is and reads the answer.
func (t *teller) post(ctx context.Context, body string, answer any) error {
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, strings.NewReader(body))
	if err != nil {
		return err
	}
	ask.Header.Set("Content-Type", "application/json")
	got, err := t.client.Do(ask)
	if err != nil {
		return err
	}
	defer func() { _ = got.Body.Close() }()
	return json.NewDecoder(got.Body).Decode(answer)
}

// count is how many of an account's transactions the node has at a tag: pending,
// latest or finalized.
func (t *teller) count(ctx context.Context, account chain.Account, at string) (uint64, error) {
	var text string
	if err := t.call(ctx, &text, "eth_getTransactionCount", account, at); err != nil {
		return 0, err
	}
	return strconv.ParseUint(text, 0, 64)
}
