package chain_test

import (
	"context"
	"fmt"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
)

// A transaction is signed, its bytes are stored before they leave, and a block has it.
func Example() {
	ctx := context.Background()
	node := chaintest.New(chaintest.Config{}) // a chain in memory, in place of one behind an endpoint
	account := node.Account("payer", 1e12)
	var driver chain.Chain = node.Line()

	nonce, err := driver.Next(ctx, account)
	if err != nil {
		fmt.Println(err)
		return
	}
	prepared, err := driver.Prepare(ctx, []chain.Draft{{
		Account: account, Index: nonce, Call: chain.Call{To: []byte(chaintest.Address("shop"))},
	}})
	if err != nil || prepared[0].Err != nil {
		fmt.Println(err, prepared)
		return
	}
	signed := prepared[0].Signed // store it here: once it was sent, it may be in the chain for ever
	fmt.Println("the node has", driver.Submit(ctx, []chain.Signed{signed})[0].Verdict, "it")

	node.Mine()
	for turn, err := range driver.Heads(ctx, chain.Block{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		included, err := driver.Inclusions(ctx, turn.Block, []chain.Account{account})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("block", turn.Block.Number, "has it:", included[0].Hash == signed.Hash)
		return
	}
	// Output:
	// the node has accepted it
	// block 1 has it: true
}
