package model

import (
	"bytes"

	"github.com/conchhq/conch/sequencer/ledger"
)

// Fake is a scheme for simulations: hashes are those of Plain, and a signature costs nothing. It keeps mistakes apart
// and no attacker away. An account is any text.
type Fake struct{ ledger.Plain }

// Sign returns the signature of an account, which everybody can make.
func (Fake) Sign(a ledger.Account, h ledger.Hash) []byte {
	return append(append(make([]byte, 0, len(h)+len(a)), h[:]...), a...)
}

// Verify implements ledger.Scheme.
func (f Fake) Verify(a ledger.Account, h ledger.Hash, signature []byte) bool {
	return a != "" && bytes.Equal(signature, f.Sign(a, h))
}
