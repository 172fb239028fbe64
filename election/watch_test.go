package election_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
)

// waits counts the waits under way, and those that were cut off.
type waits struct {
	election.Mint
	mu             sync.Mutex
	now, most, cut int
}

func (w *waits) Wait(ctx context.Context, process int64) (bool, error) {
	w.mu.Lock()
	w.now++
	w.most = max(w.most, w.now)
	w.mu.Unlock()
	gone, err := w.Mint.Wait(ctx, process)
	w.mu.Lock()
	w.now--
	if ctx.Err() != nil {
		w.cut++
	}
	w.mu.Unlock()
	return gone, err
}

// To cut a wait off, and to begin one beside it, costs the mint connections just when a
// new leader needs it. In a handover neither comes about: the old waits end by themselves.
func TestAHandoverCutsNoWaitOff(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		count := &waits{Mint: b.mint}
		counted := func(c *election.Config) { c.Mint = count }
		a, stopA := b.run("a", election.Role{Lead: untilTold})
		b.leads(a, time.Second)
		_, stopB := b.run("b", election.Role{Lead: untilTold}, counted)
		_, stopC := b.run("c", election.Role{Lead: untilTold}, counted)
		pass(3 * time.Second)
		b.ends(stopA)
		pass(3 * time.Second)
		count.mu.Lock()
		if count.cut != 0 || count.most != 2 || count.now != 1 {
			t.Errorf("%d waits cut off, %d at most, %d now", count.cut, count.most, count.now)
		}
		count.mu.Unlock()
		b.ends(stopB)
		b.ends(stopC)
	})
}
