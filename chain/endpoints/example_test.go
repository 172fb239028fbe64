package endpoints_test

import (
	"context"
	"fmt"

	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/chain/endpoints"
)

// Reads go on when the preferred endpoint is down.
func Example() {
	node := chaintest.New(chaintest.Config{}) // a chain in memory, in place of drivers of evm
	account := node.Account("payer", 1e12)
	own := node.Line()
	set, err := endpoints.New(endpoints.Config{Endpoints: []endpoints.Endpoint{
		{Name: "own node", Chain: own, Weight: 2},
		{Name: "provider", Chain: node.Line()},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()

	own.SetDown(true)
	nonce, err := set.Next(context.Background(), account)
	fmt.Println("the next nonce is", nonce, err)
	// Output: the next nonce is 0 <nil>
}
