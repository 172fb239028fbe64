package endpoints_test

import (
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/chain/endpoints"
)

// A set of endpoints is a driver like any other.
func TestExercise(t *testing.T) {
	t.Parallel()
	chaintest.Exercise(t, func(t testing.TB) chaintest.Fixture {
		t.Helper()
		node := chaintest.New(chaintest.Config{Seed: 1, Era: 64})
		down := node.Line()
		down.SetDown(true)
		away := node.Line()
		away.SetDown(true)
		rich, poor := node.Account("rich", 1<<60), node.Account("poor", 0)
		return chaintest.Fixture{
			// One alone is sent to: behind both lines is the same pool, which would know what the other sent.
			Chain:  set(t, endpoints.Endpoint{Name: "line a", Chain: node.Line(), Private: true}, endpoints.Endpoint{Name: "line b", Chain: node.Line()}),
			Down:   set(t, endpoints.Endpoint{Name: "line a", Chain: down}, endpoints.Endpoint{Name: "line b", Chain: away}),
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

func set(t testing.TB, members ...endpoints.Endpoint) *endpoints.Set {
	t.Helper()
	s, err := endpoints.New(endpoints.Config{Endpoints: members})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
