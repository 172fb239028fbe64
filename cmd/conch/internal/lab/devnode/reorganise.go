//go:build unix

package devnode

import (
	"context"
	"fmt"
	"net/http"

	"github.com/conchhq/conch/cmd/conch/internal/lab/rpc"
)

// Reorganise replaces the newest blocks of the chain by one more without transactions. What was in them is in the pool
// again.
func (n *Node) Reorganise(ctx context.Context, depth int) error {
	blocks := make([][]string, depth+1)
	for i := range blocks {
		blocks[i] = []string{}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if err := rpc.Call(ctx, client, n.HTTP, nil, "dev_reorg", fmt.Sprintf("0x%x", depth), blocks); err != nil {
		return fmt.Errorf("reorganising the chain: %w", err)
	}
	return nil
}
