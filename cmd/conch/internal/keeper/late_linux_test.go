package keeper_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// late sets how long after a heartbeat the leader's gate shuts, in milliseconds.
const late = "CONCH_HEARTBEAT_LATE_THRESHOLD_MS="

// A gate that shuts after two heartbeats leaves less than a quarter of the lease to end a command:
// the command is asked later, and runs on from heartbeat to heartbeat.
func TestLateAtTwoHeartbeats(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	// With a lease of 9 s, a heartbeat that is sent as late as allowed has 900 ms to be answered.
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
			t.Fatalf("epoch %d, want 1: the command was ended although heartbeats came", epoch)
		}
		if at.After(last) {
			beats, last = beats+1, at
		}
		return beats > 2 // the first comes with the election
	})
	if got := events(t, db); got != "acquired" {
		t.Errorf("history: got %s, want acquired", got)
	}
}

// A gate that shuts too soon to end a command between two heartbeats is refused, and so is a grace
// that leaves the next heartbeat no time: the command would never run, or end at each heartbeat.
func TestNoTimeToEnd(t *testing.T) {
	runtest.LongRun(t)
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
		t.Errorf("conch led although the command cannot run: %s", got)
	}
}
