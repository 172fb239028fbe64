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

// slow is a store whose rows take long to read.
type slow struct {
	*pending.Memory
	takes time.Duration
}

func (s *slow) Load(ctx context.Context, a chain.Account, from uint64, most int) (pending.Snapshot, error) {
	select {
	case <-time.After(s.takes):
		return s.Memory.Load(ctx, a, from, most)
	case <-ctx.Done():
		return pending.Snapshot{}, context.Cause(ctx)
	}
}

// S20: however many rows there are, a leader gets through them: what takes longer than one exchange may take has more
// time when it is tried again.
func TestManyRowsAreReadInTheEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes time.Duration
		want  bool
	}{"longer than an exchange": {25 * time.Second, true}, "no end": {time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				node := chaintest.New(chaintest.Config{Seed: 1, Depth: 3})
				from := node.Account("sender", 1<<60)
				store := &slow{Memory: &pending.Memory{}, takes: c.takes}
				in, err := store.Accept(t.Context(), pending.Intent{Account: from, Call: chain.Call{To: []byte("x")}})
				if err != nil {
					t.Fatal(err)
				}
				_, end := leads(t, pending.Config{Account: from, Chain: node.Line(), Store: store})
				for range 600 {
					node.Mine()
					time.Sleep(time.Second) // virtual
				}
				end()
				if r, err := store.Get(t.Context(), in.ID); err != nil || (r.Index != nil) != c.want {
					t.Errorf("after ten minutes it has the nonce %v, error %v; want one: %v", r.Index, err, c.want)
				}
			})
		})
	}
}
