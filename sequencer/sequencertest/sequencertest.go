// Package sequencertest has what tests, examples and the laboratory need of package sequencer besides the node: a base ledger and a
// store in memory, the packets of nodes, and the simulated world. What a store must do, the suite internal/storetest says.
package sequencertest

import (
	"context"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/committee"
	"github.com/conchhq/conch/sequencer/internal/memory"
	"github.com/conchhq/conch/sequencer/internal/storetest"
)

// Simulator is what runs committees, whose members share a contract in a world of faults: conch-lab sim sequencer.
func Simulator() world.Simulator[committee.Config, committee.Plot] { return committee.Simulator() }

// Memory is a node's database in memory, for tests and examples.
type Memory = memory.Store

// NewMemory returns an empty one.
func NewMemory() *Memory { return memory.New() }

// Each does everything that a store can do once, in two writes, and returns an error if something is not as it should be
// then. What is left is open: an intent and a dispatch. A second time it changes nothing.
func Each(ctx context.Context, s sequencer.Store) error { return storetest.Each(ctx, s) }

// Accept stores an intent, as a node does before its user hears of it.
func Accept(ctx context.Context, s sequencer.Store, key string, payload []byte) error {
	return storetest.Accept(ctx, s, key, payload)
}
