package substratetest_test

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/conchhq/conch/chain/substrate/substratetest"
)

// A chain with one account that has something, and two blocks, of which a fork takes one away.
func Example() {
	alice := strings.Repeat("\x01", 32) // the public key of an account
	node, err := substratetest.Start(substratetest.Config{Accounts: map[string]*big.Int{alice: big.NewInt(1e15)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer node.Close()
	// What is tested gets node.URL() and sends its extrinsics there.
	node.Mine()
	node.Finalize()
	node.Upgrade(substratetest.Runtime{Spec: 101, Transaction: 1})
	node.Mine()
	if err := node.Reorg(1, nil, nil); err != nil { // another branch, without the upgrade
		fmt.Println(err)
	}
	fmt.Println("head", node.Head().Number, "final", node.Final().Number)
	_, exists := node.Nonce(alice)
	fmt.Println("alice exists:", exists)
	// Output:
	// head 3 final 1
	// alice exists: true
}
