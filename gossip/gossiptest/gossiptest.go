// Package gossiptest has what tests and the laboratory need of package gossip besides the agent: the simulated crowd, and the
// overlay of many nodes.
package gossiptest

import (
	"github.com/conchhq/conch/gossip/internal/crowd"
	"github.com/conchhq/conch/internal/world"
)

// Simulator is what runs crowds of nodes that name one leader and hear the same news, in a world of faults: conch-lab sim gossip.
func Simulator() world.Simulator[crowd.Config, crowd.Plot] { return crowd.Simulator() }
