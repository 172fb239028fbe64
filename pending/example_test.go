package pending_test

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// A process accepts an intent, and sends it because it leads. With more than one process the
// store is pgstore's, and an election's role passes the gate and the token to Lead.
func Example() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	node := chaintest.New(chaintest.Config{Depth: 2}) // a chain in memory
	account := node.Account("payer", 1e12)

	store := &pending.Memory{}
	manager, err := pending.New(pending.Config{Account: account, Chain: node.Line(), Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	gate := fence.Standalone("payer", "the only process")
	token, err := gate.Require(fence.Fenced)
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = manager.Lead(ctx, gate, token) }()

	intent, err := store.Accept(ctx, pending.Intent{
		Account: account, Key: "order 7", Call: chain.Call{To: []byte(chaintest.Address("shop"))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	manager.Wake()
	blocks := time.NewTicker(time.Millisecond)
	defer blocks.Stop()
	for ctx.Err() == nil {
		<-blocks.C
		node.Mine()
		if record, err := store.Get(ctx, intent.ID); err == nil && record.Fate == pending.Done {
			fmt.Println("nonce", *record.Index, "is", record.Last.Status)
			return
		}
	}
	// Output: nonce 0 is finalized
}
