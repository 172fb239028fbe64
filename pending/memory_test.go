package pending_test

import (
	"testing"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	pendingtest.Exercise(t, func(*testing.T) pendingtest.Fixture {
		current := fence.Token{Scope: "s", Epoch: 2, Holder: "a"}
		return pendingtest.Fixture{
			Current: current, Stale: fence.Token{Scope: "s", Epoch: 1, Holder: "b"},
			Store: &pending.Memory{Fence: func(t fence.Token) error {
				if t.Epoch != current.Epoch {
					return fence.ErrStale
				}
				return nil
			}},
		}
	})
}
