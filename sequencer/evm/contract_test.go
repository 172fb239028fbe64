package evm_test

import (
	"testing"

	"github.com/conchhq/conch/sequencer/internal/ledgertest"
)

// P43, I1, Q1, Q3, Q4, Q18: the contract on a chain decides every case as the model does.
func TestContract(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	ledgertest.Exercise(t, s.open)
}
