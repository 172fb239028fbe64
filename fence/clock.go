package fence

import "time"

// Instant is a reading of a clock that never steps and that also counts while
// the machine is suspended, in nanoseconds since an arbitrary origin. Instants
// of two machines, or of one machine across a reboot, cannot be compared.
type Instant int64

// Add returns i + d.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns i − o.
func (i Instant) Sub(o Instant) time.Duration { return time.Duration(i - o) }

// Clock reads the time. It must be safe for concurrent use, must never go back
// and must count suspended time. Use [Boottime] in production; tests and
// simulations have their own clocks.
type Clock func() Instant

// Boottime reads a clock that, unlike the monotonic clock behind time.Now, counts while the machine
// is suspended: the lease in the mint runs out during that time, so the deadline here must pass as well.
func Boottime() Instant { return boottime() }
