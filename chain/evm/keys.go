package evm

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/conchhq/conch/chain"
)

// Keys are signers that come and go, for the accounts of one or several Chains. The zero Keys are ready for use
// by several goroutines at once.
type Keys struct {
	// Signed is told how long a signer took, also one that has failed. It must not block; nil: nobody is told.
	Signed func(by chain.Account, took time.Duration)

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

// sign has a signer sign, and tells how long it took.
func (k *Keys) sign(ctx context.Context, by Signer, tx *types.Transaction) (*types.Transaction, error) {
	if k.Signed != nil {
		defer func(began time.Time) { k.Signed(by.Account(), time.Since(began)) }(time.Now())
	}
	return by.Sign(ctx, tx)
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
