//go:build unix

package devnode

import (
	"context"
	"fmt"

	"github.com/conchhq/conch/cmd/conch/internal/lab/rpc"
)

// Reorganise replaces the newest blocks of the chain by one more without transactions. What was in them is in the pool
// again.
func (n *Node) Reorganise(ctx context.Context, depth int) error {
	blocks := make([][]string, depth+1)
	for i := range blocks {
		blocks[i] = []string{}
	}
	client := rpc.New(n.HTTP, patience)
	defer client.Close()
	return client.Ask(ctx, nil, "dev_reorg", fmt.Sprintf("0x%x", depth), blocks)
}
