package quorum

import (
	"github.com/conchhq/conch/txlog/quorum/internal/core"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// MostReading is how many queries run at a time.
const MostReading = mostReading

// Inside returns what the machines knew after the last step.
func (h *Host) Inside() core.Status { return *h.status.Load() }

// Acts returns when this node may act outside of the log.
func (h *Host) Acts() majority.Door { return h.acts() }
