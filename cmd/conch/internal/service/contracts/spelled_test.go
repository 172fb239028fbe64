package contracts

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/sequencer/ledger"
)

// The declaration on the chain has its address in one spelling: a configuration may have any, and means the same contract.
func TestAnAddressMayBeInAnyCase(t *testing.T) {
	t.Parallel()
	const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	for _, text := range []string{address, strings.ToLower(address), "0x" + strings.ToUpper(address[2:])} {
		s := &Section{contracts: []Agreed{{Address: text, Members: []string{"bank"}}}}
		s.Settle(nil, config.Config{})
		if got := declaration(s.contracts[0], 1).Address; got != address {
			t.Errorf("%s is declared as %s, want %s", text, got, address)
		}
	}
}

// A path names a contract in any case but that of a wrong checksum.
func TestPathsNameContracts(t *testing.T) {
	t.Parallel()
	const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	a := newAPI(officeOf(address), slog.New(slog.DiscardHandler))
	for text, want := range map[string]string{
		address: "", strings.ToLower(address): "", "0x" + strings.ToUpper(address[2:]): "",
		"0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed": "422 Not acceptable: address: has a wrong checksum (EIP-55)",
		"0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAee": "404 Unknown contract",
		"ledger.eth": "404 Unknown contract",
	} {
		_, err := a.find(text)
		if err == nil && want != "" || err != nil && (want == "" || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// officeOf is an office with a contract at an address.
type officeOf string

func (o officeOf) Contracts() ([]declared, ledger.Account, names) {
	return []declared{{ledger.Contract{Address: string(o)}, "main"}}, "", nil
}
func (officeOf) Node() running { return nil }
