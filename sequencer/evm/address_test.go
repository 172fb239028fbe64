package evm_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

// An address that an operator has written in any case is the one that the contract's declaration is compared with.
func TestAnAddressHasOneSpelling(t *testing.T) {
	t.Parallel()
	made := evm.AddressOf(ledger.Account(strings.Repeat("\xa1", 20)), 7)
	for _, text := range []string{made, strings.ToLower(made), "0x" + strings.ToUpper(made[2:])} {
		if got := evm.Spelled(text); got != made {
			t.Errorf("%s is spelled %s, want %s", text, got, made)
		}
	}
	if got := evm.Spelled("0x12"); got != "0x12" {
		t.Errorf("what is no address became %s", got)
	}
}
