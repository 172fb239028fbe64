package transactions

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/node"
)

// Another service finds an account by its name, and signs with its key.
func TestAnAccountForOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, password := filepath.Join(dir, "key"), filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address, err := evm.WriteKeystore(file, "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318", "secret", evm.NoCost)
	if err != nil {
		t.Fatal(err)
	}
	desk := new(node.Accounts)
	if _, err := desk.Find("ops"); !errors.Is(err, node.ErrNoAccount) {
		t.Errorf("before there is a service: got error %v, want ErrNoAccount", err)
	}
	s := newService(node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler), Over: t.Context(), Accounts: desk, Go: func(func()) {}}, nil)
	a := Account{
		Name: "ops", Address: address, Keystore: file, PasswordFile: password,
		Chain: Chain{Name: "main", Kind: KindEVM, ChainID: 5, Endpoints: [mostEndpoints]Endpoint{{URL: "http://127.0.0.1:1"}}},
	}
	use, err := s.accounts.prepare([]Account{a})
	if err != nil {
		t.Fatal(err)
	}
	use()
	found, err := desk.Find("ops")
	if err != nil || found.Address != address || found.Chain != "main" || found.ID != 5 || len(found.Endpoints) != 1 {
		t.Fatalf("found %+v, error %v", found, err)
	}
	hash := [32]byte{7}
	signature, err := found.Sign(hash)
	if err != nil || len(signature) != 65 {
		t.Fatalf("the signature is %x, error %v", signature, err)
	}
	signature[64] -= 27
	key, err := crypto.SigToPub(hash[:], signature)
	if err != nil || crypto.PubkeyToAddress(*key) != [20]byte([]byte(address)) {
		t.Errorf("it is not the account's: error %v", err)
	}
	if _, err := desk.Find("other"); !errors.Is(err, node.ErrNoAccount) {
		t.Errorf("an unknown name: got error %v, want ErrNoAccount", err)
	}
}
