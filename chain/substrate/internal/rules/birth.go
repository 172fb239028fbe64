package rules

import "math/bits"

const (
	// DefaultPeriod is for how many blocks an attempt is good, if nothing else is configured.
	DefaultPeriod = 64
	// Brief is the shortest period that there is.
	Brief = 4

	leastPeriod, mostPeriod = 16, 256
	mostLag                 = 32 // blocks below the head at which an attempt is born at most, where finality is far behind
)

// Period returns for how many blocks attempts are good, given what is configured, 0 for nothing, and how many hashes of blocks the chain
// keeps (System.BlockHashCount; 0: unknown): a power of two from 16 to 256, or less if the chain keeps fewer (Z1).
func Period(configured, kept uint64) uint64 {
	if configured == 0 {
		configured = DefaultPeriod
	}
	period := min(max(floorPower(configured), leastPeriod), mostPeriod)
	if kept > 0 {
		period = max(Brief, min(period, floorPower(kept)))
	}
	return period
}

// floorPower returns the highest power of two that is not above n.
func floorPower(n uint64) uint64 { return 1 << max(0, bits.Len64(n)-1) }

// Birth is by which block an attempt is signed.
type Birth struct {
	Number uint64
	// Until is the height of the last block that takes the attempt.
	Until uint64
	// Lags says that finality is so far behind that the attempt was born on a block that may be reverted (Z2).
	Lags bool
}

// BirthOf returns the birth of an attempt with a period. That is the final block. If the head is far above it, it is one below the
// head: else much of its time would be over. It is never the head alone, which is dead on every other branch.
func BirthOf(head, final, period uint64) Birth {
	b := Birth{Number: min(final, head)}
	if head-b.Number > period/4 {
		b = Birth{Number: head - min(head, mostLag, period/4), Lags: true}
	}
	b.Until = b.Number + period - 1
	return b
}
