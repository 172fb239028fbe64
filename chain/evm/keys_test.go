package evm_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// refusing signs nothing.
type refusing struct{ *evm.Keystore }

func (refusing) Sign(context.Context, *types.Transaction) (*types.Transaction, error) {
	return nil, chain.ErrKey
}

// It is told of each signature how long it took, also of one that the signer refused.
func TestSigningIsTimed(t *testing.T) {
	t.Parallel()
	own, other := evm.NewKeystore(newKey(t)), refusing{evm.NewKeystore(newKey(t))}
	var mu sync.Mutex
	told := map[chain.Account]int{}
	keys := &evm.Keys{Signed: func(by chain.Account, took time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		if told[by]++; took < 0 || took > time.Hour {
			t.Errorf("a signature took %v", took)
		}
	}}
	keys.Add(own)
	keys.Add(other)
	driver := open(t, evm.Config{ChainID: 1337, URL: serve(t, new(picky).say), Keys: keys})
	to := make([]byte, 20)
	_, err := driver.Prepare(t.Context(), []chain.Draft{
		{Account: own.Account(), Call: chain.Call{To: to, Gas: 21_000}}, {Account: own.Account(), Index: 1, Call: chain.Call{To: to, Gas: 21_000}},
		{Account: other.Account(), Call: chain.Call{To: to, Gas: 21_000}},
	})
	mu.Lock()
	defer mu.Unlock()
	if err != nil || told[own.Account()] != 2 || told[other.Account()] != 1 {
		t.Errorf("told of %v, %v; want two by one account and one by the other", told, err)
	}
}
