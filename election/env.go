package election

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// WithEnv returns the configuration with the values that the environment sets (requirement
// S27): CONCH_INSTANCE_ID, CONCH_LEADER_ENABLED, and in milliseconds CONCH_LEASE_MS,
// CONCH_HEARTBEAT_INTERVAL_MS, CONCH_HEARTBEAT_LATE_THRESHOLD_MS, CONCH_ACQUIRE_BACKOFF_MS_MIN
// and _MAX, CONCH_EPOCH_STALE_THRESHOLD_MS. The error joins every fault.
func (c Config) WithEnv(getenv func(string) string) (Config, error) {
	var faults []error
	for name, to := range map[string]*time.Duration{
		"CONCH_LEASE_MS":                    &c.Lease,
		"CONCH_HEARTBEAT_INTERVAL_MS":       &c.Heartbeat,
		"CONCH_HEARTBEAT_LATE_THRESHOLD_MS": &c.LateThreshold,
		"CONCH_ACQUIRE_BACKOFF_MS_MIN":      &c.BackoffMin,
		"CONCH_ACQUIRE_BACKOFF_MS_MAX":      &c.BackoffMax,
		"CONCH_EPOCH_STALE_THRESHOLD_MS":    &c.StaleAfter,
	} {
		text := getenv(name)
		if text == "" {
			continue
		}
		ms, err := strconv.ParseInt(text, 10, 32)
		if err != nil || ms <= 0 {
			faults = append(faults, fmt.Errorf("%s=%q is not a number of milliseconds above 0", name, text))
			continue
		}
		*to = time.Duration(ms) * time.Millisecond
	}
	if id := getenv("CONCH_INSTANCE_ID"); id != "" {
		c.ID = id
	}
	switch text := getenv("CONCH_LEADER_ENABLED"); text {
	case "", "1", "true":
	case "0", "false":
		c.Follower = true
	default:
		// A typo must not decide whether this process may lead.
		faults = append(faults, fmt.Errorf("CONCH_LEADER_ENABLED=%q is none of true, false", text))
	}
	return c, errors.Join(faults...)
}
