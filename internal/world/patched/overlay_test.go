package patched_test

import (
	"testing"

	"github.com/conchhq/conch/internal/world/patched/patchedtest"
)

// Without each rule of the overlay something falls (B23): incarnation and turn-away are broken by the world there.
func TestTheOverlayNeedsItsRules(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds a program")
	}
	for rule, proof := range map[string]string{
		"peer-cache": "halves", "same-answer": "conserved", "arcs-return": "silent", "ask-the-lost": "healed", "refill": "drained",
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			patchedtest.Falls(t, "gossip/spray", "TestProofs/"+proof, rule)
		})
	}
}
