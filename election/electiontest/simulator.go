package electiontest

import (
	"github.com/conchhq/conch/election/internal/electorate"
	"github.com/conchhq/conch/internal/world"
)

// Simulator is what runs elections in a world of faults: conch-lab sim election.
func Simulator() world.Simulator[electorate.Config, struct{}] { return electorate.Simulator() }
