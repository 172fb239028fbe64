package pending_test

import (
	"context"
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/pending"
)

// W17: fees rise above the limit. What has a nonce and what has none waits, and says what is needed and what is
// allowed. A higher limit takes effect at once, in the same term, while no block comes; nothing is ended before.
func TestAHigherLimitTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		node := chaintest.New(chaintest.Config{Seed: 1, Depth: 3})
		from := node.Account("sender", 1<<60)
		store := &pending.Memory{}
		fee := func(most int64) chain.Fee { return chain.Fee{Max: big.NewInt(most)} }
		m, end := leads(t, pending.Config{Account: from, Chain: node.Line(), Store: store, MostFee: fee(400)})
		defer end()
		accept := func() pending.ID {
			in, err := store.Accept(t.Context(), pending.Intent{Account: from, Call: chain.Call{To: []byte("somebody")}})
			if err != nil {
				t.Fatal(err)
			}
			m.Wake()
			return in.ID
		}
		get := func(id pending.ID) pending.Record {
			r, err := store.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		first := accept()
		time.Sleep(time.Second)
		node.SetBaseFee(350) // its first attempt paid less
		ctx, stop := context.WithCancel(t.Context())
		mined := make(chan struct{})
		go func() { defer close(mined); node.Run(ctx, time.Second) }()
		time.Sleep(time.Minute)
		second := accept()
		time.Sleep(2 * time.Minute)
		stop()
		<-mined
		one, two := get(first), get(second)
		if said := one.Last.Waits; one.Fate != pending.Open || !strings.Contains(said, "at least 351") || !strings.Contains(said, "at most 320") {
			t.Errorf("the first is %v and says %q, want it open with both numbers", one.Fate, said)
		}
		if said := two.Hold.Why; two.Index != nil || !strings.Contains(said, "at least 351") || !strings.Contains(said, "at most 320") {
			t.Errorf("the second has the nonce %v and says %q, want none and both numbers", two.Index, said)
		}
		m.Allow(fee(4000))
		time.Sleep(time.Second) // no block comes
		for range 6 {
			node.Mine()
			time.Sleep(time.Second)
		}
		for _, id := range []pending.ID{first, second} {
			if r := get(id); r.Fate != pending.Done {
				t.Errorf("after more is allowed: %+v, want it done", r)
			}
		}
	})
}
