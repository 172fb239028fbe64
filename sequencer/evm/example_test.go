package evm_test

import (
	"encoding/hex"
	"fmt"

	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

// An account creates a contract with its first transaction. Its members know the address before it is there, and what they sign.
func Example() {
	var members []ledger.Account
	for _, address := range []string{"6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0", "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"} {
		account, _ := hex.DecodeString(address) // it is one
		members = append(members, ledger.Account(account))
	}
	c := ledger.Contract{
		Chain: 1, Address: evm.AddressOf(members[0], 0), Members: members, Committee: members, Needed: 2,
		Range: 100, Depth: 2, Life: 50, Domain: "notes/1",
	}
	_, err := evm.Creation(c)
	fmt.Println(c.Address, err)
	fmt.Println(evm.Scheme{}.Declared(c))
	// Output:
	// 0xcd234A471b72ba2F1Ccf0A70FCABA648a5eeCD8d <nil>
	// 0xed87beec5a9e037202595519ba596ff0223af9e36c8e7951b6d1531ae2fb8eec
}
