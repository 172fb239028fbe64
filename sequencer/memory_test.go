package sequencer_test

import (
	"context"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

// P28: the store in memory keeps what every store promises.
func TestMemory(t *testing.T) {
	t.Parallel()
	sequencertest.Exercise(t, func(*testing.T) sequencer.Store { return sequencer.NewMemory() })
}

// P28, P38 to P42: as on Postgres, where make test runs it.
func TestCrashes(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	sequencertest.Crashes(t, 5, func(*testing.T) sequencertest.Begin {
		m := sequencer.NewMemory()
		return func(context.Context) sequencer.Store { return m }
	})
}
