// Package quorumtest has what tests and the laboratory need of package quorum besides the host: the simulated log.
package quorumtest

import (
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/txlog/quorum/internal/logworld"
)

// Simulator is what runs logs in a world of faults: conch-lab sim log.
func Simulator() world.Simulator[logworld.Config, logworld.Plot] { return logworld.Simulator() }
