//go:build unix

package main_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
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
	env = append(env, "CONCH_RIVER=")
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
	"schedule": {
		"due_100_p99", "idle_2000_begin", "jobs", "job_wal_add", "job_wal_work", "take_after_4000_held_p50", "dead_retried_1000", "worker_killed_to_next_fenced_p50",
		"worker_killed_to_next_p50", "leader_killed_due_to_committed_p99", "leader_killed_to_committed_p50",
	},
	"gossip": {"killed_samples", "killed_to_all_p50", "killed_to_all_max", "rest_12_bytes_beside_memberlist", "rest_12_messages_beside_serf", "cold_beside_memberlist_p50"},
}

// ofThePage are the figures of the bench ui; without a browser those that need none.
func ofThePage() []string {
	plain := []string{"first_screen", "all_assets", "dead_30_bytes", "viewers_1_of_60_bytes", "viewers_5_of_60_bytes", "metrics_full_60", "metrics_gauges_60"}
	if path, err := exec.LookPath(cmp.Or(os.Getenv("CONCH_CHROMIUM"), "chromium")); err != nil || path == "" {
		return plain
	}
	return append(plain, "main_thread_60", "paint_p50", "paint_slow_p50", "change_to_screen_p50", "change_to_screen_p99", "pan_400_events", "pan_400_events_frame")
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
		"schedule": {"take_after_4000_held_p99"},
		"ui":       ofThePage(),
		"files":    {"put_large_by_1", "put_large_by_8", "put_small_with_0", "put_small_with_50"},
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
	conch(t, "bench", "speed").refused(t, 2, `no bench "speed"`, "gate, fence, election, pending, files, sequencer, gossip, log, schedule, ui")
	conch(t, "bench", "gate", "fence").refused(t, 2, "one name or none")
	conch(t, "bench", "--lease", "1ms").refused(t, 2, "--lease 1ms is not between")
	conch(t, "bench", "--json", "--markdown").refused(t, 2, "give one")
	conch(t, "bench", "pending", "--only", "tolled").refused(t, 2, `no part "tolled"`, "told")
	conch(t, "bench", "gate", "--only", "told").refused(t, 2, `"bench pending"`)
	cmd := prepared(t, "bench", "fence")
	cmd.Env = append(cmd.Env, "CONCH_PG_BIN="+t.TempDir())
	call(t, cmd).refused(t, 2, "CONCH_PG_BIN", "initdb")
	cmd = prepared(t, "bench", "pending")
	cmd.Env = append(cmd.Env, "CONCH_DEVNODE=", "PATH="+t.TempDir())
	call(t, cmd).refused(t, 2, "conch-devnode", "make build", "CONCH_DEVNODE")
}

// F6: how long nobody may act during a handover between three real nodes, as seen by the program
// that they start and stop:
//
//	door     from its answer to the stop, which ends the acts, to the successor's start
//	request  the whole of `conch transfer`, a process of its own
//	ceiling  the least that a handover can take: from unlock and NOTIFY on one plain
//	         connection to a lock on another
//
// Run it with  go test -run '^$' -bench Transfer -benchtime 300x ./cmd/conch  on an idle
// machine, or it measures how long processes wait for a processor, as the ceiling's p99
// shows. On a shared machine run the compiled test under chrt -r 5.
func BenchmarkTransfer(b *testing.B) {
	server := pgtest.Own(b, postmaster.Config{Fsync: true})
	url := server.URL("postgres")
	conch(b, "--db", url, "migrate", "up").done(b)
	w := newCoworker(b)
	ids := []string{"n1", "n2", "n3"}
	for _, id := range ids {
		startDaemon(b, id, url, w.role("payments", "")).says("leadership", "scope", "payments")
	}
	leader := ""
	pgtest.Eventually(b, patience, "one leads", func() bool { leader = w.leader("payments"); return leader != "" })
	pgtest.Eventually(b, patience, "all campaign", func() bool {
		s := decode[[]map[string]any](b, conch(b, "--db", url, "status", "--json").done(b))
		return fmt.Sprint(s[0]["candidates"]) == fmt.Sprint(ids)
	})
	var doors, requests []time.Duration
	for b.Loop() {
		to := ids[(slices.Index(ids, leader)+1)%len(ids)]
		began := fence.Boottime()
		conch(b, "--db", url, "transfer", "--scope", "payments", "--to", to).done(b)
		requests = append(requests, fence.Boottime().Sub(began))
		w.wants(b, "payments", to)
		doors = append(doors, w.handoff(b, leader, to))
		leader = to
	}
	b.ReportMetric(0, "ns/op") // meaningless: the loop also waits
	report(b, "door", doors)
	report(b, "request", requests)
	report(b, "ceiling", rawHandoffs(b, url, max(200, len(doors))))
}

// handoff returns how long nobody was at work between the last two terms.
func (w *coworker) handoff(b *testing.B, from, to string) time.Duration {
	b.Helper()
	calls := w.seen("", "payments")
	last := calls[len(calls)-2:]
	if last[0].Verb != "stop" || last[0].ID != from || last[1].Verb != "start" || last[1].ID != to {
		b.Fatalf("want a handover from %s to %s, got the calls %+v", from, to, last)
	}
	return last[1].At.Sub(last[0].Done)
}

// rawHandoffs passes a lock to and fro between two plain connections as fast as possible.
func rawHandoffs(b *testing.B, url string, n int) (all []time.Duration) {
	b.Helper()
	ctx := b.Context()
	do := func(c *pgx.Conn, sql string) (got bool) {
		if err := c.QueryRow(ctx, sql).Scan(&got); err != nil {
			b.Fatal(err)
		}
		return got
	}
	var pair [2]*pgx.Conn
	for i := range pair {
		c, err := pgx.Connect(ctx, url)
		if err == nil {
			_, err = c.Exec(ctx, `LISTEN raw`)
		}
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = c.Close(ctx) }()
		pair[i] = c
	}
	do(pair[0], `SELECT pg_try_advisory_lock(1)`)
	for i := range n {
		from, to := pair[i%2], pair[(i+1)%2]
		began := fence.Boottime()
		do(from, `SELECT pg_advisory_unlock(1) FROM pg_notify('raw', '')`)
		for heard := false; !heard; {
			note, err := to.WaitForNotification(ctx)
			if err != nil {
				b.Fatal(err)
			}
			heard = note.PID == from.PgConn().PID()
		}
		if !do(to, `SELECT pg_try_advisory_lock(1)`) {
			b.Fatal("the lock is held after the notification of its release, want it free")
		}
		all = append(all, fence.Boottime().Sub(began))
	}
	return all
}

// report reports p50, p99 and maximum.
func report(b *testing.B, name string, all []time.Duration) {
	b.Helper()
	slices.Sort(all)
	at := func(share float64) float64 {
		return float64(all[min(len(all)-1, int(share*float64(len(all))))].Microseconds()) / 1000
	}
	b.ReportMetric(at(0.50), name+"-p50-ms")
	b.ReportMetric(at(0.99), name+"-p99-ms")
	b.ReportMetric(at(1), name+"-max-ms")
}
