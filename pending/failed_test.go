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
	saw := func(failed bool) chain.Sighting {
		return chain.Sighting{Block: block, Effect: chain.EffectOf(failed)}
	}
	hashes := []lookup{{Index: 0, Hash: "0a"}, {Index: 1, Hash: "1a"}}
	stored := map[chain.Hash]bool{}
	for _, a := range m.Step(now, seen{Hashes: hashes, Sightings: []chain.Sighting{saw(true), saw(false)}}) {
		if to, is := a.(save); is {
			for _, c := range to.Changes {
				stored[c.Hash] = c.Effect.Failed()
			}
		}
	}
	if len(stored) != 2 || !stored["0a"] || stored["1a"] {
		t.Errorf("stored as failed: %v, want 0a true and 1a false", stored)
	}
}
