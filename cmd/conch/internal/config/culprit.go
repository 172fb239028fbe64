package config

import (
	"slices"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
)

// settings are the keys that the election validates together, with their variables. They are
// blamed in this order: if heartbeat and lease do not fit, the heartbeat is more likely wrong.
var settings = []struct {
	key, variable string
	forget        func(*election.Config, *election.Role)
}{
	{"heartbeat", "CONCH_HEARTBEAT_INTERVAL_MS", func(c *election.Config, _ *election.Role) { c.Heartbeat = 0 }},
	{"late_threshold", "CONCH_HEARTBEAT_LATE_THRESHOLD_MS", func(c *election.Config, r *election.Role) { c.LateThreshold, r.LateThreshold = 0, 0 }},
	{"lock_timeout", "", func(c *election.Config, _ *election.Role) { c.LockTimeout = 0 }},
	{"lease", "CONCH_LEASE_MS", func(c *election.Config, r *election.Role) { c.Lease, r.Lease = 0, 0 }},
}

// Variable returns the environment variable of a key of [election]; empty if there is none.
func Variable(key string) string {
	for _, s := range settings {
		if s.key == key {
			return s.variable
		}
	}
	return ""
}

// Complaints returns the faults of an elector with one role, and of the time to end a command.
func Complaints(e election.Config, command bool) []error {
	e.Mint = (*pgmint.Mint)(nil) // never called, but its absence would be a fault
	faults := parts(e.Validate())
	if !command || len(faults) > 0 {
		return faults
	}
	_, err := keeper.Grace(0, or(e.Roles[0].Lease, or(e.Lease, defaultLease)), e.Spare(e.Roles[0]))
	return parts(err)
}

// Culprit finds the key that causes a complaint: without it, the complaint disappears. It
// returns "" for complaints about other things than times.
func Culprit(e election.Config, command bool, complaint error) (key string) {
	for _, s := range settings {
		without, role := e, e.Roles[0]
		s.forget(&without, &role)
		without.Roles = []election.Role{role}
		same := func(err error) bool { return err.Error() == complaint.Error() }
		if !slices.ContainsFunc(Complaints(without, command), same) {
			return s.key
		}
	}
	return ""
}
