package feed_test

import (
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/chain/feed"
)

// A shared chain is a driver like any other.
func TestExercise(t *testing.T) {
	t.Parallel()
	chaintest.Exercise(t, func(t testing.TB) chaintest.Fixture {
		t.Helper()
		node := chaintest.New(chaintest.Config{Seed: 1, Era: 64})
		down := node.Line()
		down.SetDown(true)
		rich, poor := node.Account("rich", 1<<60), node.Account("poor", 0)
		return chaintest.Fixture{
			Chain: share(t, node.Line()).Of(rich), Down: share(t, down).Of(rich),
			Funded: rich, Poor: poor, Stranger: chaintest.Address("stranger"),
			Bad: chain.Call{Data: []byte("revert")}, BadGas: 100_000,
			Half:      chain.Call{To: []byte("x"), Data: []byte("half")},
			Mine:      func() { node.Mine() },
			Seal:      func(txs ...chain.Signed) { node.Seal(txs...) },
			Reorg:     node.Reorg,
			Drop:      func(h chain.Hash) { node.Drop(h) },
			Final:     node.Finalize,
			Foreign:   func(index uint64) chain.Signed { return node.Foreign(rich, index) },
			Elsewhere: func(index uint64) chain.Signed { return node.Elsewhere(rich, index) },
			Broke:     func() chain.Signed { return node.Foreign(poor, 0) },
			Upgrade:   func() { node.Upgrade("2") },
			Forget:    node.Forget,
		}
	})
}

func share(t testing.TB, c chain.Chain) *feed.Feed {
	t.Helper()
	f := feed.New(c)
	t.Cleanup(f.Close)
	return f
}
