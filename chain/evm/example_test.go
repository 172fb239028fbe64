package evm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/conchhq/conch/chain/evm"
)

// A key is written and opened, and a driver signs with it. New does not connect: an endpoint that is down is found by the
// calls that use it.
func Example() {
	folder, err := os.MkdirTemp("", "conch")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file, password := filepath.Join(folder, "key.json"), filepath.Join(folder, "password")
	if err := os.WriteFile(password, []byte("open sesame\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	secret := strings.Repeat("0", 63) + "1" // worth nothing: everybody knows it
	if _, err := evm.WriteKeystore(file, secret, "open sesame", evm.NoCost); err != nil {
		fmt.Println(err)
		return
	}

	key, err := evm.OpenKeystore(file, password)
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := evm.New(evm.Config{URL: "https://node.example/a-secret", ChainID: 1337, Signers: []evm.Signer{key}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Println("account", key.Account()) // c is a chain.Chain, for pending.Config or your own loop
	// Output:
	// account 0x7e5f4552091a69125d5dfcb7b8c2659029395bdf
}
