// Package scheduletest has what tests and the laboratory need of package schedule besides the scheduler: the simulated world.
package scheduletest

import (
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/schedule/internal/belfry"
)

// Simulator is what runs crons in a world of faults: conch-lab sim schedule.
func Simulator() world.Simulator[belfry.Config, struct{}] { return belfry.Simulator() }
