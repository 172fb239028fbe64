// Package quorumtest has what tests and the laboratory need of package quorum besides the host: the simulated log.
package quorumtest

import (
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/txlog/quorum/internal/logworld"
)

// Log is a kind of world.
type Log = world.Simulator[Config, logworld.Plot]

// Config describes a run.
type Config = logworld.Config

// Machine is a state machine that a simulated log may have beside that of keys and values.
type Machine = logworld.Machine

// Simulator is what runs logs in a world of faults: conch-lab sim log. More are the machines that they may have beside kv.
func Simulator(more ...Machine) Log { return logworld.Simulator(more...) }
