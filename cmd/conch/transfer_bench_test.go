//go:build unix

package main_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

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
