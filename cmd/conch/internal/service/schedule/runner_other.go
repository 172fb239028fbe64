//go:build !unix

package schedule

import (
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/schedule"
)

// newRunner returns nothing: commands need a keeper.
func newRunner(node.Frame, time.Duration, time.Duration) schedule.Runner { return nil }
