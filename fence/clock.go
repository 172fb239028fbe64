package fence

import "time"

// Instant is a reading of a clock that never steps and that also counts while
// the machine is suspended, in nanoseconds since an arbitrary origin. Instants
// of two machines, or of one machine across a reboot, cannot be compared.
type Instant int64

// Add returns the instant d after i.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns how long after o the instant i is.
func (i Instant) Sub(o Instant) time.Duration { return time.Duration(i - o) }

// Clock reads the time. It must be safe for concurrent use, must never go back,
// and must count suspended time; [Boottime] is the one for production. Tests and
// simulations hand in their own.
type Clock func() Instant
