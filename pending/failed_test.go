package pending

import (
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// A successor finds a transaction that was included while nobody led by a lookup alone. That its
// call failed must be stored then, since no turn of the chain reports it again.
func TestSightedFailure(t *testing.T) {
	t.Parallel()
	now := fence.Instant(time.Hour)
	m := newMachine(settings{MaxInFlight: 4, MaxBatch: 3, Retry: time.Second, Patience: time.Hour})
	m.Step(now, tick{})
	m.Step(now, loaded{Best: 2, Snapshot: Snapshot{Next: 2, Slots: []Slot{slotNamed("0a"), slotNamed("1a")}}})
	block := chain.Block{Number: 3, Hash: "3"}
	saw := func(name string, failed bool) sight {
		return sight{Index: index(name), Hash: chain.Hash(name), Sighting: chain.Sighting{Where: chain.Included, Block: block, Failed: failed}}
	}
	stored := map[chain.Hash]bool{}
	for _, a := range m.Step(now, seen{Sights: []sight{saw("0a", true), saw("1a", false)}}) {
		if to, is := a.(save); is {
			for _, c := range to.Changes {
				stored[c.Hash] = c.Failed
			}
		}
	}
	if len(stored) != 2 || !stored["0a"] || stored["1a"] {
		t.Errorf("stored as failed: %v, want 0a true and 1a false", stored)
	}
}
