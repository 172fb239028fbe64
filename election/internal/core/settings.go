package core

import (
	"cmp"
	"time"

	"github.com/conchhq/conch/election/mint"
)

// Settings are the part of a configuration that the core needs.
type Settings struct {
	Seats          []SeatSettings
	Takeover       mint.Takeover
	Lease          time.Duration // the session's lease: the shortest of the seats' leases
	Heartbeat      time.Duration
	CheckInterval  time.Duration
	LockTimeout    time.Duration // how long a bid waits for a busy fence; default mint.DefaultLockTimeout
	DrainTimeout   time.Duration // how long acts may take to end if the machine decides to give a scope up; default 10 s
	BackoffMin     time.Duration
	BackoffMax     time.Duration
	RetryMax       time.Duration // longest pause of the exponential back-off after errors
	StaleAfter     time.Duration // report a holder whose last heartbeat is older; 0: never
	Seed           uint64        // of the jitter
	RankDelay      time.Duration // a candidate of rank n bids n times this later
	YieldAfterStep time.Duration // for how long a candidate that gave a scope up lets others go first
	Linger         time.Duration // how long a stopping machine keeps its session after a farewell
	Batch          int           // most bids or farewells in one call; default 500
}

// SeatSettings are one role's part of the Settings.
type SeatSettings struct {
	Scope  string
	Lease  time.Duration
	Margin time.Duration // how long before the lease's end the gate shuts
	Late   time.Duration // the gate shuts this long after the sending of the last heartbeat that succeeded
	Rank   int           // 0 bids first
	Never  bool          // never bids
}

// DefaultLease is the lease of a role that names none.
const DefaultLease = 3 * time.Second

// linger is how long a process keeps its connections after a farewell. Ending them costs the
// server several times as much as the successor's mint, just when everyone waits for that.
const linger = 50 * time.Millisecond

// WithDefaults fills in the times that an elector's configuration leaves out. Lease is that of a role which names none, and then the session's.
func (s Settings) WithDefaults() Settings {
	shortest := cmp.Or(s.Lease, DefaultLease)
	if len(s.Seats) > 0 {
		s.Lease = s.Seats[0].Lease
	}
	for _, seat := range s.Seats {
		s.Lease, shortest = min(s.Lease, seat.Lease), min(shortest, seat.Lease)
	}
	s.Lease = cmp.Or(s.Lease, shortest)
	s.Heartbeat = cmp.Or(s.Heartbeat, shortest/5)
	s.CheckInterval = cmp.Or(s.CheckInterval, shortest/3)
	s.LockTimeout = cmp.Or(s.LockTimeout, s.defaultLockTimeout(shortest))
	s.DrainTimeout = cmp.Or(s.DrainTimeout, 10*time.Second)
	s.BackoffMin = cmp.Or(s.BackoffMin, 200*time.Millisecond)
	s.BackoffMax = cmp.Or(s.BackoffMax, max(800*time.Millisecond, s.BackoffMin))
	s.RetryMax = cmp.Or(s.RetryMax, 3*time.Second)
	s.Takeover = cmp.Or(s.Takeover, mint.Strict)
	s.RankDelay, s.Linger, s.YieldAfterStep = 5*time.Millisecond, linger, s.Lease
	return s
}

// WithDefaults fills in the times that a role leaves out.
func (s SeatSettings) WithDefaults() SeatSettings {
	s.Margin = cmp.Or(s.Margin, max(s.Lease/10, 50*time.Millisecond))
	s.Late = cmp.Or(s.Late, s.Lease-s.Margin)
	return s
}

// defaultLockTimeout returns the default lock timeout. A bid that waits holds up the heartbeats of its
// session, so it may take 3/4 of the time by which a heartbeat can be late with the gate open.
func (s Settings) defaultLockTimeout(shortest time.Duration) time.Duration {
	most := mint.DefaultLockTimeout(shortest)
	for _, seat := range s.Seats {
		most = min(most, max(s.Spare(seat)*3/4, time.Millisecond))
	}
	return most
}

// Spare returns how long the answer to a heartbeat may take before a seat's gate shuts, if the
// heartbeat is sent as late as jitter allows.
func (s Settings) Spare(seat SeatSettings) time.Duration {
	return seat.openFor() - s.Heartbeat - s.Heartbeat/5
}

// openFor returns how long a heartbeat keeps the gate open, counted from its sending.
func (s SeatSettings) openFor() time.Duration { return min(s.Lease-s.Margin, s.Late) }
