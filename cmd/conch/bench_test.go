//go:build unix

package main_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

type figures struct {
	Name    string
	Metrics []struct {
		Name    string
		Value   float64
		Unit    string
		Ceiling *float64
		Ratio   *float64
	}
}

// measured runs a short bench. Tests ignore its figures.
func measured(t *testing.T, args ...string) result {
	t.Helper()
	scratch := t.TempDir()
	env := []string{"TMPDIR=" + scratch}
	if args[0] == "pending" || args[0] == "sequencer" {
		env = append(env, "CONCH_DEVNODE="+devnodeProgram(t)) // built before its time runs
	}
	if args[0] == "gossip" || args[0] == "log" { // without a server and without other libraries
		env = append(env, "CONCH_PG_BIN="+t.TempDir(), "CONCH_MEMBERS=", "PATH="+t.TempDir())
	}
	cmd := prepared(t, append([]string{"bench", "--quick", "--lease", "1s"}, args...)...)
	cmd.Env = append(cmd.Env, env...)
	r := callFor(t, building, cmd)
	leavesNothing(t, scratch)
	return r
}

// alone are metrics that have nothing beside them.
var alone = map[string][]string{
	"sequencer": {"chain_1_of_2_batch", "chain_1_of_2_gas", "committee_2_messages", "committee_3_messages", "committee_3_bytes", "rest_to_final_p99"},
	"log":       {"entry_bytes", "rest_bytes", "rest_messages", "killed_samples", "killed_to_commit_p99", "spread_60_p50"},
	"gossip":    {"killed_samples", "killed_to_all_p50", "killed_to_all_max", "rest_12_bytes_beside_memberlist", "rest_12_messages_beside_serf", "cold_beside_memberlist_p50"},
}

func TestBench(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string][]string{
		"gate":  {"isopen_1", "require_1", "do_1", "require_shut_1", "isopen_8", "require_8", "do_8"},
		"fence": {"fenced_inside", "fenced_pipelined", "fenced_statements", "fenced_pipelined_async", "takeover_under_load_p50"},
		"election": {
			"kill9_to_fenced_p50", "kill9_to_fenced_p99", "kill9_to_fenced_max", "handoff_to_fenced_p99", "handoff_to_act_p99",
			"sigstop_to_fenced_max", "sigstop_to_act_max", "blackhole_to_fenced_max", "blackhole_to_act_max",
			"rest_1_scopes", "rest_100_scopes",
		},
		"pending": {
			"send_to_mined", "submit_to_mined", "accept", "commits", "idle_p50", "idle_p99", "send_with_finished_rows",
			"failover_to_sent_p50", "failover_to_sent_max",
		},
		"sequencer": {
			"ed25519_5ms", "ed25519_one_note_5ms", "ed25519_0ms", "ed25519_1ms", "ed25519_20ms", "secp256k1_5ms", "secp256k1_one_note_5ms",
			"live_beside_dead_before_assembly", "live_beside_dead_after_assembly", "live_beside_dead_after_assembly_one_note",
			"coordinator_stopped_to_dispatch_p50", "coordinator_stopped_to_dispatch_max",
			"chain_1_of_2", "chain_1_of_2_ratio", "rest_to_final_p50", "coordinator_killed_to_dispatch_p50", "coordinator_killed_to_dispatch_max",
		},
		"gossip": {"news_beside_flood_p50", "news_beside_flood_p99", "news_beside_flood_max", "rest_200_bytes"},
		"log": {
			"goals_1", "goals_16", "goals_16_ratio", "goals_16_answer_p50", "goals_16_answer_p99", "read_fresh_beside_copy_p50", "killed_to_commit_rounds",
			"open_1000", "spread_60_p99", "spread_60_last", "spread_60_uploads",
		},
		"files": {"put_large_by_1", "put_large_by_8", "put_small_with_0", "put_small_with_50"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "gate" {
				runtest.LongRun(t)
			}
			args := []string{name, "--json"}
			if name == "fence" {
				args = append(args, "--db", givenServer(t))
			}
			out := measured(t, args...).done(t)
			if strings.Count(out, "\n") != 1 {
				t.Errorf("stdout is %q, want one line", out)
			}
			var f figures
			if err := json.Unmarshal([]byte(out), &f); err != nil {
				t.Fatalf("%v in %q", err, out)
			}
			if f.Name != name {
				t.Errorf("the bench is called %q, want its name", f.Name)
			}
			there, values := map[string]bool{}, map[string]float64{}
			for _, m := range f.Metrics {
				if m.Unit == "" || there[m.Name] {
					t.Errorf("metric %s has no unit, or appears twice", m.Name)
				}
				values[m.Name] = m.Value
				there[m.Name] = m.Value > 0 && m.Ceiling != nil && m.Ratio != nil && *m.Ratio > 0
			}
			for _, want := range wants {
				if !there[want] {
					t.Errorf("metric %s is missing, or has no ceiling and ratio, in %s", want, out)
				}
			}
			for _, want := range alone[name] {
				if values[want] <= 0 {
					t.Errorf("metric %s is missing, or zero, in %s", want, out)
				}
			}
		})
	}
}

func TestBenchIsForPeopleToo(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	out := measured(t, "gate").done(t)
	if !strings.HasPrefix(out, "GATE ") || !strings.Contains(out, "require_1 ") {
		t.Errorf("bench gate prints %q, want a table for people", out)
	}
	out = measured(t, "gate", "--markdown").done(t)
	if !strings.HasPrefix(out, "| gate | value |") {
		t.Errorf("bench gate --markdown prints %q, want a Markdown table", out)
	}
}

// givenServer returns the URL of a server on which the bench makes a database of its own, and
// checks that it has removed it.
func givenServer(t *testing.T) string {
	t.Helper()
	db := migrated(t)
	conn := db.Connect(t)
	t.Cleanup(func() {
		var left int
		err := conn.QueryRow(context.WithoutCancel(t.Context()), `SELECT count(*) FROM pg_database WHERE datname LIKE 'conch_bench_%'`).Scan(&left)
		if err != nil || left > 0 {
			t.Errorf("the bench left %d databases, %v; want none", left, err)
		}
	})
	return db.URL
}

func TestBenchUsage(t *testing.T) {
	t.Parallel()
	conch(t, "bench", "speed").refused(t, 2, `no bench "speed"`, "gate, fence, election, pending, files, sequencer, gossip, log")
	conch(t, "bench", "gate", "fence").refused(t, 2, "one name or none")
	conch(t, "bench", "--lease", "1ms").refused(t, 2, "--lease 1ms is not between")
	conch(t, "bench", "--json", "--markdown").refused(t, 2, "give one")
	cmd := prepared(t, "bench", "fence")
	cmd.Env = append(cmd.Env, "CONCH_PG_BIN="+t.TempDir())
	call(t, cmd).refused(t, 2, "CONCH_PG_BIN", "initdb")
	cmd = prepared(t, "bench", "pending")
	cmd.Env = append(cmd.Env, "CONCH_DEVNODE=", "PATH="+t.TempDir())
	call(t, cmd).refused(t, 2, "conch-devnode", "make build", "CONCH_DEVNODE")
}
