package sequencer_test

import (
	"context"
	"testing"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	sequencertest.Exercise(t, func(*testing.T) sequencer.Store { return sequencer.NewMemory() })
}

func TestCrashes(t *testing.T) {
	t.Parallel()
	sequencertest.Crashes(t, func(*testing.T) sequencertest.Begin {
		m := sequencer.NewMemory()
		return func(context.Context) sequencer.Store { return m }
	})
}
