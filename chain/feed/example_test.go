package feed_test

import (
	"context"
	"fmt"

	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/chain/feed"
)

// Two accounts share what they read of one chain.
func Example() {
	node := chaintest.New(chaintest.Config{}) // a chain in memory, in place of a driver of evm
	shared := feed.New(node.Line())
	defer shared.Close()
	for _, name := range []string{"payer", "refunds"} {
		account := node.Account(name, 1e12)
		view := shared.Of(account) // a chain.Chain, for the account's pending.Config
		nonce, err := view.Next(context.Background(), account)
		fmt.Println(name, nonce, err)
	}
	// Output:
	// payer 0 <nil>
	// refunds 0 <nil>
}
