package coordinator

import (
	"testing"

	"github.com/conchhq/conch/sequencer/ledger"
)

// The first block that a node hears of may have any number, and the chain may go far back: what that costs is measured by
// the work, and not by the blocks between.
func TestNumbersOfBlocks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set.Head = 0
	s.start()
	s.m.Step(0, ledger.Block{Number: 1 << 62})
	s.m.Step(0, ledger.Rewind{To: 1})
	s.m.Step(0, ledger.Block{Number: 2})
	if wrong := s.m.Audit(); len(wrong) > 0 {
		t.Error(wrong)
	}
}
