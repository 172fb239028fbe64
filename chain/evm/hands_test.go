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

// gathering is a signer outside this process, which signs once so many requests are there.
type gathering struct {
	*evm.Keystore
	many  int
	mu    sync.Mutex
	there int
	most  int
	all   chan struct{}
	once  sync.Once // closes all
}

func (g *gathering) Sign(ctx context.Context, tx *types.Transaction) (*types.Transaction, error) {
	g.mu.Lock()
	g.there++
	if g.most = max(g.most, g.there); g.there == g.many {
		g.once.Do(func() { close(g.all) })
	}
	g.mu.Unlock()
	select {
	case <-g.all:
	case <-time.After(10 * time.Second): // fewer are asked at once
	}
	g.mu.Lock()
	g.there--
	g.mu.Unlock()
	return g.Keystore.Sign(ctx, tx)
}

// A signer outside this process is asked for 32 signatures at once, however few processors there are.
func TestRemoteSignersAreAskedAtOnce(t *testing.T) {
	t.Parallel()
	g := &gathering{Keystore: evm.NewKeystore(newKey(t)), many: 32, all: make(chan struct{})}
	n := &node{height: 5, asked: map[string]int{}}
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, n.say), Signers: []evm.Signer{g}})
	var drafts []chain.Draft
	for i := range uint64(40) {
		drafts = append(drafts, chain.Draft{Account: g.Account(), Index: i, Call: chain.Call{To: make([]byte, 20), Gas: 21_000}})
	}
	prepared, err := c.Prepare(t.Context(), drafts)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range prepared {
		if p.Err != nil || p.Index != uint64(i) {
			t.Fatalf("draft %d: %+v", i, p)
		}
	}
	if g.most != 32 {
		t.Errorf("%d signatures were asked for at once, want 32", g.most)
	}
}
