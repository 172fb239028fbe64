package contracts

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
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
