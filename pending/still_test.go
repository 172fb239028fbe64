package pending_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/pending"
)

// onDemand is a chain that makes a block for what is sent, final at once, and no other.
type onDemand struct {
	*chaintest.Line
	node *chaintest.Node
}

func (o onDemand) Submit(ctx context.Context, attempts []chain.Signed) []chain.Outcome {
	outcomes := o.Line.Submit(ctx, attempts)
	o.node.Mine()
	o.node.Finalize()
	return outcomes
}

// W2, W5, W12: all that is sent ends on a chain that makes blocks on demand, also the last of it, though no later block
// comes. Nor do these wait for a block: an account that was used before its first row, a call that the chain refuses,
// and a new leader.
func TestAChainThatMakesBlocksOnDemand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		still time.Duration
		want  bool
	}{"time counts": {2 * time.Second, true}, "it does not": {0, false}} {
		synctest.Test(t, func(t *testing.T) {
			node := chaintest.New(chaintest.Config{Seed: 1, StillAfter: c.still})
			from := node.Account("sender", 1<<60)
			for index := range uint64(3) {
				node.Seal(node.Foreign(from, index))
			}
			node.Finalize()
			store := &pending.Memory{}
			accept := func(data string) pending.ID {
				in, err := store.Accept(t.Context(), pending.Intent{Account: from, Call: chain.Call{To: []byte("x"), Data: []byte(data)}})
				if err != nil {
					t.Fatal(err)
				}
				return in.ID
			}
			wants := func(when string, of pending.ID, want pending.Fate, within time.Duration) {
				t.Helper()
				r, err := store.Get(t.Context(), of)
				for begun := time.Now(); err == nil && r.Fate != want && time.Since(begun) < within; r, err = store.Get(t.Context(), of) {
					time.Sleep(100 * time.Millisecond)
				}
				if err != nil || (r.Fate == want) != c.want {
					t.Errorf("%s, %s: it is %v (%v), want %v %v", name, when, r.Fate, err, want, c.want)
				}
			}
			cfg := pending.Config{Account: from, Chain: onDemand{node.Line(), node}, Store: store, Sequence: new(pending.Sequence)}
			m, end := leads(t, cfg)
			refused, last := accept("revert"), pending.ID{}
			for range 5 {
				last = accept("")
			}
			m.Wake()
			wants("a call that reverts", refused, pending.Rejected, 30*time.Second)
			wants("the last one", last, pending.Done, 15*time.Second)
			last = accept("")
			m.Wake()
			time.Sleep(time.Second)
			end()
			_, end = leads(t, cfg)
			defer end()
			wants("after a takeover", last, pending.Done, 15*time.Second)
		})
	}
}
