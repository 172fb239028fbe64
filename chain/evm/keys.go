package evm

import (
	"slices"
	"sync"

	"github.com/conchhq/conch/chain"
)

// Keys are signers that come and go, for the accounts of one or several Chains. The zero Keys are ready for use
// by several goroutines at once.
type Keys struct {
	mu  sync.Mutex
	all []Signer
}

// Add adds a signer until remove is called. Of two for one account the newer one signs.
func (k *Keys) Add(s Signer) (remove func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, s)
	return sync.OnceFunc(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		at := slices.Index(k.all, s)
		k.all = slices.Delete(k.all, at, at+1)
	})
}

// of returns the signer for an account, nil if there is none.
func (k *Keys) of(a chain.Account) Signer {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range slices.Backward(k.all) {
		if s.Account() == a {
			return s
		}
	}
	return nil
}
