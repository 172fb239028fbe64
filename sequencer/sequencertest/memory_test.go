package sequencertest_test

import (
	"context"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/grouptest"
	"github.com/conchhq/conch/sequencer/internal/storetest"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

func memory() sequencer.Store { return sequencertest.NewMemory() }

// P28: the store in memory keeps what every store promises.
func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.Exercise(t, memory, func(*testing.T) sequencer.Store { return memory() })
}

// P28, P38 to P42: as on Postgres, where make test runs it.
func TestCrashes(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	grouptest.Crashes(t, 5, func(*testing.T) grouptest.Begin {
		m := sequencertest.NewMemory()
		return func(context.Context) sequencer.Store { return m }
	})
}
