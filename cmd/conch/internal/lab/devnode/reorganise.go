//go:build unix

package devnode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Reorganise replaces the newest blocks of the chain by one more without transactions. What was in them is in the pool
// again.
func (n *Node) Reorganise(ctx context.Context, depth int) error {
	blocks := make([][]string, depth+1)
	for i := range blocks {
		blocks[i] = []string{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "dev_reorg", "params": []any{fmt.Sprintf("0x%x", depth), blocks}})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.HTTP, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("reorganising the chain: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	var said struct{ Error *struct{ Message string } }
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		return fmt.Errorf("reorganising the chain: %w", err)
	}
	if said.Error != nil {
		return errors.New("reorganising the chain: " + said.Error.Message)
	}
	return nil
}
