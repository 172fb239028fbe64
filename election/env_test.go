package election_test

import (
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
)

// S27: every variable is read, an empty one changes nothing, and a typo is an error.
func TestWithEnv(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"CONCH_INSTANCE_ID": "n1", "CONCH_LEADER_ENABLED": "false", "CONCH_LEASE_MS": "4000",
		"CONCH_HEARTBEAT_INTERVAL_MS": "500", "CONCH_HEARTBEAT_LATE_THRESHOLD_MS": "1200",
		"CONCH_ACQUIRE_BACKOFF_MS_MIN": "100", "CONCH_ACQUIRE_BACKOFF_MS_MAX": "300", "CONCH_EPOCH_STALE_THRESHOLD_MS": "9000",
	}
	get := func(name string) string { return env[name] }
	c, err := election.Config{}.WithEnv(get)
	if err != nil {
		t.Fatal(err)
	}
	ms := time.Millisecond
	if c.ID != "n1" || !c.Follower || c.Lease != 4000*ms || c.Heartbeat != 500*ms || c.LateThreshold != 1200*ms ||
		c.BackoffMin != 100*ms || c.BackoffMax != 300*ms || c.StaleAfter != 9000*ms {
		t.Errorf("the environment gives %+v", c)
	}
	if c, err = (election.Config{Lease: time.Second}).WithEnv(func(string) string { return "" }); err != nil || c.Follower || c.Lease != time.Second {
		t.Errorf("an empty environment gives %+v, %v", c, err)
	}
	env = map[string]string{"CONCH_LEASE_MS": "3s", "CONCH_LEADER_ENABLED": "yes", "CONCH_ACQUIRE_BACKOFF_MS_MIN": "-1"}
	_, err = election.Config{}.WithEnv(get)
	for _, name := range []string{"CONCH_LEASE_MS", "CONCH_LEADER_ENABLED", "CONCH_ACQUIRE_BACKOFF_MS_MIN"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
}
