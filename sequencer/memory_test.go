package sequencer_test

import (
	"testing"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	sequencertest.Exercise(t, func(*testing.T) sequencer.Store { return sequencer.NewMemory() })
}
