package pending_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	pendingtest.Exercise(t, func(*testing.T) pendingtest.Fixture {
		current := fence.Token{Scope: "s", Epoch: 2, Holder: "a"}
		passed := time.Duration(0)
		return pendingtest.Fixture{
			Current: current, Stale: fence.Token{Scope: "s", Epoch: 1, Holder: "b"},
			Pass: func(_ *testing.T, d time.Duration) { passed += d },
			Store: &pending.Memory{Now: func() time.Time { return time.Now().Add(passed) }, Fence: func(t fence.Token) error {
				if t.Epoch != current.Epoch {
					return fence.ErrStale
				}
				return nil
			}},
		}
	})
}
