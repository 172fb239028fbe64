package keeper_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// late is the environment of a leader whose gate shuts so long after a heartbeat.
const late = "CONCH_HEARTBEAT_LATE_THRESHOLD_MS="

// A gate that shuts after two heartbeats leaves less time to end a command in than a
// quarter of the lease: the command is asked later, and lives on from heartbeat to heartbeat.
func TestLateAtTwoHeartbeats(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	// Of so long a lease a heartbeat that is sent as late as may be has 900 ms to be answered.
	cmd := sh(t, db, `echo "epoch $CONCH_EPOCH"; `+idle, "--lease", "9s")
	cmd.Env = append(cmd.Env, late+"3600")
	p := begin(t, cmd)
	p.says("epoch 1")
	conn := db.Connect(t)
	var last time.Time
	beats := 0
	pgtest.Eventually(t, patience, "heartbeats in the first epoch", func() bool {
		var epoch int64
		var at time.Time
		if err := conn.QueryRow(context.Background(), `SELECT epoch, beat_at FROM conch.heartbeat WHERE scope = 's'`).Scan(&epoch, &at); err != nil {
			t.Fatal(err)
		}
		if epoch != 1 {
			t.Fatalf("epoch %d: the command was ended though heartbeats come", epoch)
		}
		if at.After(last) {
			beats, last = beats+1, at
		}
		return beats > 2 // the first is that of the election
	})
	if got := events(t, db); got != "acquired" {
		t.Errorf("history: %s", got)
	}
}

// A gate that shuts so soon that no command could be ended between two heartbeats is
// refused, and so is a grace that leaves the next heartbeat no time: both would lead and
// never run the command, or end it with each heartbeat.
func TestNoTimeToEnd(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for _, c := range []struct {
		args []string
		env  string
		says []string
	}{
		{nil, late + "740", []string{"late threshold", "by 300ms or more"}},
		{[]string{"--kill-grace", "100ms"}, late + "740", []string{"late threshold", "by 300ms or more"}},
		{[]string{"--kill-grace", "200ms"}, late + "1200", []string{"--kill-grace 200ms is not between 20ms and 180ms"}},
		{[]string{"--kill-grace", "1500ms"}, "CONCH_HEARTBEAT_INTERVAL_MS=1300", []string{"--kill-grace 1.5s is not between 20ms and 840ms"}},
	} {
		cmd := conch(t, db, append(append([]string{"--scope", "s", "--lease", "3s"}, c.args...), "--", "true")...)
		cmd.Env = append(cmd.Env, c.env)
		r := call(t, cmd)
		for _, part := range c.says {
			if r.code != 2 || !strings.Contains(r.err, part) || strings.Count(r.err, "\n") != 1 {
				t.Errorf("%s %v: %+v does not say %q", c.env, c.args, r, part)
			}
		}
	}
	if got := events(t, db); got != "" {
		t.Errorf("it was led for nothing: %s", got)
	}
}
